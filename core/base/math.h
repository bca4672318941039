// Integer arithmetic that the closed forms share.
#pragma once

#include <cstdint>

namespace swath {

// Rounds towards minus infinity: floor_div(-1, 4) == -1.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
// Rounds towards plus infinity: ceil_div(-1, 4) == 0, ceil_div(5, 4) == 2.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0); }
// a * b, or INT64_MAX if that is smaller: for upper bounds. Requires a, b >= 0.
constexpr int64_t multiply_or_max(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
// The end of a block of `length` from `begin`, cut to `limit`: min(begin + length, limit) without overflow. Requires
// begin <= limit.
constexpr int64_t block_end(int64_t begin, int64_t length, int64_t limit) {
  return length < limit - begin ? begin + length : limit;
}
// For cost estimates.
constexpr double as_double(int64_t value) { return static_cast<double>(value); }

}  // namespace swath
