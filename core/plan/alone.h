// Whether ranks that all have one contiguous range should meet at all before they move it.
#pragma once

#include "base/direction.h"
#include "plan/profile.h"

namespace swath {

struct MeetingRanks {
  int of_a_node;  // of the node that has most
  int nodes;
};

// Whether a short request of each rank by itself costs less than it costs that ranks meet. A function of what all ranks
// know alike, and of no operation: so they answer alike without asking each other. `has_page_cache`: requests are
// served by it, at least until a sync.
bool is_cheaper_alone(const Profile& profile, Direction direction, const MeetingRanks& ranks, bool has_page_cache);

}  // namespace swath
