// The default shape of chunks.
#pragma once

#include <cstdint>
#include <functional>

#include "space/distribution.h"

namespace swath::formats {

// Half of a length, but at least 1.
int64_t half(int64_t length);

// The shape of chunks of at most this many bytes, or of one element: `shorter` shortens the longest dimension until
// they fit. A dimension of length 0 grows: a chunk has one row of it, or more if rows are small.
Shape default_chunks(const Shape& shape, int64_t element_bytes, int64_t bytes_max,
                     const std::function<int64_t(int64_t)>& shorter = half);

// The product of the lengths and the bytes of an element; INT64_MAX if it is beyond that.
int64_t bytes_of_box(const Shape& shape, int64_t element_bytes);

}  // namespace swath::formats
