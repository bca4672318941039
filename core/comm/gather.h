// Gathers the bytes of all ranks on all ranks, where they are too many, or too unequal, for Comm::allgather().
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/comm.h"

namespace swath {

using Bytes = std::vector<std::byte>;

// Collective. Returns each rank's bytes, in order of the ranks. A node's bytes are sent once to each other node, in
// O(log nodes) messages of the first rank of each; on a node they go through shared windows if available. Throws the
// same error on all ranks if one runs out of memory.
std::vector<Bytes> gather_bytes(Comm& comm, std::span<const std::byte> mine);

}  // namespace swath
