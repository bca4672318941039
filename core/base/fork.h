// Detects forks. A forked child inherits everything and owns nothing of it: descriptors, locks, rings and sockets are
// its parent's.
#pragma once

#include <atomic>
#include <cstdint>

namespace swath {

namespace internal {
extern std::atomic<uint64_t> forks;
}

// The number of forks since the process that loaded this library. An object that stores this number can detect that it
// is used in a forked child. Costs one load.
inline uint64_t fork_generation() { return internal::forks.load(std::memory_order_relaxed); }

// True in a child of vfork(): until it has another program, it uses the memory of its parent, with all objects in it.
bool has_memory_of_parent();

}  // namespace swath
