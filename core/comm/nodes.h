// How ranks lie on nodes.
#pragma once

#include "comm/comm.h"

namespace swath {

// How many ranks the fullest node has.
int most_on_a_node(const Comm& comm);
// Whether no lower rank is on this rank's node.
bool is_first_of_node(const Comm& comm);

}  // namespace swath
