// Computes the placement group of an object in a Ceph pool, as every client does: a hash of its name, folded to the
// number of groups. All objects of a group are on the same servers.
//
// The hash is Bob Jenkins' of 1996 ("lookup2", free for any use), which Ceph calls rjenkins. It is the default for
// pools.
#pragma once

#include <cstdint>
#include <string_view>

namespace swath {

uint32_t jenkins_hash(std::string_view bytes);

// Folds a hash to `groups` (at least 1) so that most objects stay where they are when groups are added.
uint32_t placement_group(uint32_t hash, uint32_t groups);

}  // namespace swath
