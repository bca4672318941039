#include "formats/default_chunks.h"

#include <algorithm>
#include <limits>

namespace swath::formats {
namespace {

constexpr int64_t kGrowingBytes = int64_t{1} << 16;  // bytes of a chunk of an array that grows and has small rows
constexpr int64_t kGrowingRowsMax = int64_t{1} << 10;

}  // namespace

int64_t half(int64_t length) { return length / 2 + length % 2; }

int64_t bytes_of_box(const Shape& shape, int64_t element_bytes) {
  int64_t bytes = element_bytes;
  for (const int64_t length : shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes)) return std::numeric_limits<int64_t>::max();
  }
  return bytes;
}

Shape default_chunks(const Shape& shape, int64_t element_bytes, int64_t bytes_max,
                     const std::function<int64_t(int64_t)>& shorter) {
  Shape lengths = shape;
  for (int64_t& length : lengths) length = std::max<int64_t>(length, 1);
  while (bytes_of_box(lengths, element_bytes) > bytes_max) {
    const auto longest = std::max_element(lengths.begin(), lengths.end());
    if (longest == lengths.end() || *longest <= 1) break;
    *longest = shorter(*longest);
  }
  const auto growing = std::find(shape.begin(), shape.end(), 0);
  if (growing != shape.end()) {
    const int64_t rows = kGrowingBytes / std::max<int64_t>(bytes_of_box(lengths, element_bytes), 1);
    lengths[growing - shape.begin()] = std::clamp<int64_t>(rows, 1, kGrowingRowsMax);
  }
  return lengths;
}

}  // namespace swath::formats
