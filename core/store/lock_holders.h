// Which processes hold a contended lock, according to /proc.
#pragma once

#include <cstdint>
#include <string>

namespace swath {

// "process 4711 (python3)" for each process with a lock on a part of [begin, end) of this open file, with commas
// between. If none is visible, the processes that have the file open. Empty if unknown: the holder may be on another
// machine.
std::string lock_holders(int descriptor, int64_t begin, int64_t end);

// "process 4711 (python3)" for each process with a flock(2) lock on this open file, according to the kernel's table,
// which omits other machines and containers. Empty if unknown.
std::string flock_holder(int descriptor);

}  // namespace swath
