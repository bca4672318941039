// The bytes of all ranks on all ranks, where they are too many, or too different in number, for Comm::allgather().
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/comm.h"

namespace swath {

using Bytes = std::vector<std::byte>;

// Collective. What every rank brings, in order of the ranks. What a node brings comes once to each other node, in
// O(log nodes) messages of the first rank of each; on a node it goes through shared windows where they can be had.
// Throws the same error on all ranks where one has no memory for it.
std::vector<Bytes> gather_bytes(Comm& comm, std::span<const std::byte> mine);

}  // namespace swath
