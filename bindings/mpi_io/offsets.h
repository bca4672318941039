// Checks of offsets given by the program.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace swath::mpi_io {

inline int64_t checked_sum(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) fail_argument("an offset beyond 2^63 bytes");
  return result;
}

inline int64_t checked_product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) fail_argument("an offset beyond 2^63 bytes");
  return result;
}

}  // namespace swath::mpi_io
