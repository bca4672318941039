// A coded chunk that is about to get its place in a file.
#pragma once

#include <cstdint>

#include "space/distribution.h"

namespace swath {

// What a chunk of a table takes in the file: `at` is its place in the grid. `is_recoded`: it takes as many bytes as are
// stored of it now, and other codecs are left out, which HDF5 does not take note of where the size stays.
struct NewChunk {
  Shape at;
  int64_t bytes = 0;
  uint32_t skipped = 0;
  bool is_recoded = false;
};

}  // namespace swath
