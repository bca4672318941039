// Decides if ranks with one contiguous range each should meet at all before the transfer.
#pragma once

#include "base/direction.h"
#include "plan/profile.h"

namespace swath {

struct MeetingRanks {
  int of_a_node;  // of the node with the most ranks
  int nodes;
};

// True if a short request of each rank by itself costs less than a meeting of the ranks. Depends only on what all ranks
// know, and on no operation, so all ranks get the same answer without a message. `has_page_cache`: the page cache
// serves requests, at least until a sync.
bool is_cheaper_alone(const Profile& profile, Direction direction, const MeetingRanks& ranks, bool has_page_cache);

}  // namespace swath
