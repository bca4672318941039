// Which ranks are on which node.
#pragma once

#include "comm/comm.h"

namespace swath {

// The largest number of ranks on a node.
int most_on_a_node(const Comm& comm);
// True if no lower rank is on this rank's node.
bool is_first_of_node(const Comm& comm);

}  // namespace swath
