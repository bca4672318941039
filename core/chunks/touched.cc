#include "chunks/touched.h"

#include <algorithm>
#include <tuple>

namespace swath {

TouchedChunks::TouchedChunks(const CodedArray& array, std::span<const Part> parts) {
  struct Touch {
    int64_t unit;
    int64_t chunk;
    size_t part;
    bool operator<(const Touch& other) const {
      return std::tie(unit, chunk, part) < std::tie(other.unit, other.chunk, other.part);
    }
  };
  std::vector<Touch> touches;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (const int64_t chunk : chunks_of(array.shape, array.chunk_shape, parts[part])) {
      touches.push_back({array.unit_of(chunk).unit, chunk, part});
    }
  }
  if (!std::is_sorted(touches.begin(), touches.end())) std::sort(touches.begin(), touches.end());
  for (const Touch& touch : touches) {
    if (chunks_.empty() || chunks_.back().chunk != touch.chunk) {
      chunks_.push_back({touch.unit, touch.chunk, parts_.size(), 0});
    }
    parts_.push_back(touch.part);
    ++chunks_.back().part_count;
  }
}

}  // namespace swath
