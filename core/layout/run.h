#pragma once

#include <cstdint>

namespace swath {

// A maximal contiguous range of the file: positions [position, position + bytes / element_bytes).
struct Run {
  int64_t offset;
  int64_t bytes;
  int64_t position;
};

}  // namespace swath
