// Bytes of a file that go to another place, in it or in another file, in bounded memory. Holes stay holes.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/netcdf/define.h"

namespace swath::formats::netcdf {

// What is moved at a time. Tests set it.
extern int64_t moved_bytes_max;

// Carries out moves in one file, each from its end on: what is not moved yet is not written over. Before the first
// piece stays what was there. Throws Refusal: the data are lost then, unless a journal has them.
void move_in_place(int descriptor, const std::vector<Move>& moves);

// Carries out moves from one file to another, new one. Throws Refusal.
void copy_moved(int source, int target, const std::vector<Move>& moves);

}  // namespace swath::formats::netcdf
