// Integer arithmetic that the closed forms share.
#pragma once

#include <cstdint>

namespace swath {

// Rounds towards minus infinity: floor_div(-1, 4) == -1.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
// Rounds towards plus infinity: ceil_div(-1, 4) == 0, ceil_div(5, 4) == 2.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

}  // namespace swath
