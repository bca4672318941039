// Which placement group of a Ceph pool an object is in, computed as every client computes it: a hash of its name,
// folded to the number of groups. All objects of a group lie on the same servers.
//
// The hash is Bob Jenkins' of 1996 ("lookup2", published for anybody's use), which Ceph calls rjenkins and pools use
// unless they were made otherwise.
#pragma once

#include <cstdint>
#include <string_view>

namespace swath {

uint32_t jenkins_hash(std::string_view bytes);

// Folds a hash to `groups` (at least 1) so that most objects stay where they are when groups are added.
uint32_t placement_group(uint32_t hash, uint32_t groups);

}  // namespace swath
