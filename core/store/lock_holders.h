// Who holds a lock that somebody waits for, as far as /proc tells.
#pragma once

#include <cstdint>
#include <string>

namespace swath {

// "process 4711 (python3)" of whoever has [begin, end) of this open file locked, or part of it; several with commas.
// Where none is to be seen, who has the file open. Empty where nothing is known: it may be on another machine.
std::string lock_holders(int descriptor, int64_t begin, int64_t end);

// "process 4711 (python3)" of whoever has this open file locked by flock(2), as far as the kernel's table tells: not of
// other machines and containers. Empty where nothing is known.
std::string flock_holder(int descriptor);

}  // namespace swath
