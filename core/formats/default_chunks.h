// Chunks of a size that suits, where nobody says which.
#pragma once

#include <cstdint>
#include <functional>

#include "space/distribution.h"

namespace swath::formats {

// Half of a length, at least.
int64_t half(int64_t length);

// Chunks of at most so many bytes, or of one element: the longest dimensions become `shorter`. A dimension of length 0
// is one that grows: a chunk holds one row of it, or more of small ones.
Shape default_chunks(const Shape& shape, int64_t element_bytes, int64_t bytes_max,
                     const std::function<int64_t(int64_t)>& shorter = half);

// The product of lengths and of an element's bytes; the largest number there is where it would be beyond that.
int64_t bytes_of_box(const Shape& shape, int64_t element_bytes);

}  // namespace swath::formats
