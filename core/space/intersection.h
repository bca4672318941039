// The intersection of two index sets, with the positions in both, in closed form: it gives the messages between ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "space/index_set.h"

namespace swath {

// A loop of `count` iterations; each advances by these positions in both sets.
struct SharedLoop {
  int64_t count;
  int64_t from_step;
  int64_t to_step;
};

// Common indices of both sets: all combinations of the loops (slowest first), from a pair of positions on.
struct SharedPiece {
  int64_t from;
  int64_t to;
  std::vector<SharedLoop> loops;  // none with a single iteration
};

// All indices that are in both sets, each in one piece.
//
// Theorem: with L the least common multiple of the periods, x is in both exactly when x + L is, as long as both lie
// between the fronts and the backs. So what is found in the first L indices repeats, and the rest comes after it.
//
// Example: Cyclic(4) of 2 ranks and Cyclic(3) of 2, rank 0 of both: 0 1 2 3 | 8 9 10 11 | 16 ... and 0 1 2 | 6 7 8 |
// 12 ...; L = 24 holds 0 1 2 | 8 | 18 19, which is three pieces however many indices there are.
//
// Takes a time, and gives a number of pieces, that grow with the blocks in L (or in the sets, if they are shorter): one
// for a block and anything cyclic, Q for Cyclic(1) of P ranks and of Q >= P ranks where P and Q have no common divisor.
std::vector<SharedPiece> intersection(const IndexSet& from, const IndexSet& to);

}  // namespace swath
