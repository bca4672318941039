// Moves bytes of a file to another offset, or to another file, in bounded memory. Holes stay holes.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/netcdf/define.h"

namespace swath::formats::netcdf {

// The bytes that are moved at a time. Tests set it.
extern int64_t moved_bytes_max;

// Does moves in one file, the last bytes of each move first: bytes are not overwritten before they are moved. Bytes
// before the first new offset stay as they are. Throws Refusal: then data are lost, unless a journal has them.
void move_in_place(int descriptor, const std::vector<Move>& moves);

// Does moves from one file to another, new file. Throws Refusal.
void copy_moved(int source, int target, const std::vector<Move>& moves);

}  // namespace swath::formats::netcdf
