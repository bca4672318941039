#include "comm/nodes.h"

#include <algorithm>
#include <vector>

namespace swath {

int most_on_a_node(const Comm& comm) {
  std::vector<int> counts(static_cast<size_t>(comm.node_count()));
  for (int rank = 0; rank < comm.size(); ++rank) ++counts[static_cast<size_t>(comm.node_of(rank))];
  return *std::max_element(counts.begin(), counts.end());
}

bool is_first_of_node(const Comm& comm) {
  for (int rank = 0; rank < comm.rank(); ++rank) {
    if (comm.node_of(rank) == comm.node_of(comm.rank())) return false;
  }
  return true;
}

}  // namespace swath
