// Costs of ranks besides copies: barriers, and finding their part of a window.
#pragma once

#include <vector>

namespace swath {

// Seconds that one barrier of `ranks` ranks of a node adds to a copy of 512 KiB by each, as at the end of an operation:
// one number for every sixteen, until `seconds_max` have passed. The ranks are threads here; they use the same futex as
// processes. Throws Error{kUnsupported} if there is no shared memory.
std::vector<double> time_barriers(int ranks, double seconds_max);

// Seconds that one barrier adds to a round of two-phase in which ranks copy 256 KiB between arriving and waiting, and
// 256 KiB after that: one number for every sixteen rounds. Copies hide the barrier if ranks are about equally fast.
// Throws as above.
std::vector<double> time_rounds(int ranks, double seconds_max);

// Seconds to find the elements of one window of 512 KiB: for rank 0 of 2, columns CYCLIC(1) of a square of doubles.
std::vector<double> time_visits(double seconds_max);

}  // namespace swath
