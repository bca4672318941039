// Whether this is still the process that made something. A forked child inherits everything and owns nothing of it:
// descriptors, locks, rings and sockets are its parent's.
#pragma once

#include <atomic>
#include <cstdint>

namespace swath {

namespace internal {
extern std::atomic<uint64_t> forks;
}

// How many forks lie between the process that loaded this library and this one: whoever keeps the number beside what it
// opens notices in a child that it is another's. Costs one load.
inline uint64_t fork_generation() { return internal::forks.load(std::memory_order_relaxed); }

}  // namespace swath
