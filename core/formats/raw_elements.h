// The content of a file without a header, as its caller describes it.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/element_type.h"
#include "space/distribution.h"

namespace swath::formats {

struct RawElements {
  Shape shape;
  ElementType type = {};
  std::vector<int> order;  // dimensions from slowest to fastest; empty: C
  int64_t offset = 0;      // bytes before the first element
};

}  // namespace swath::formats
