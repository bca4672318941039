// Seconds of what ranks do between copies: meeting each other, and finding their part of a window.
#pragma once

#include <vector>

namespace swath {

// Seconds that one barrier of `ranks` ranks of a node adds to 512 KiB that each copies before it, as to an operation
// that they agree on at its end: one number for every sixteen, until `seconds_max` have passed. The ranks are threads
// here: they wait on the same futex as processes do. Throws Error{kUnsupported} where there is no shared memory.
std::vector<double> time_barriers(int ranks, double seconds_max);

// Seconds that one meeting adds to a round of two-phase, in which ranks copy 256 KiB between arriving and waiting, and
// 256 KiB after that: one number for every sixteen rounds. Such a meeting hides behind the copies where the ranks
// are about as fast as each other. Throws as above.
std::vector<double> time_rounds(int ranks, double seconds_max);

// Seconds of finding the elements of one window of 512 KiB: of rank 0 of 2, columns CYCLIC(1) of a square of doubles.
std::vector<double> time_visits(double seconds_max);

}  // namespace swath
