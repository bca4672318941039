// A coded chunk that is about to be placed in a file.
#pragma once

#include <cstdint>

#include "space/distribution.h"

namespace swath {

// The size of a chunk of a table in the file; `at` is its position in the grid. `is_recoded`: its size equals the
// stored one, but other codecs are skipped, a change that HDF5 does not notice if the size stays.
struct NewChunk {
  Shape at;
  int64_t bytes = 0;
  uint32_t skipped = 0;
  bool is_recoded = false;
};

}  // namespace swath
