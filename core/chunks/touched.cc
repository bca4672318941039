#include "chunks/touched.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace swath {
namespace {

int64_t elements_in(const Panel& box, const Part& part) {
  if (!part.holds) return 0;
  int64_t elements = 1;
  for (size_t d = 0; d < box.begin.size(); ++d) elements *= part.indices[d].clip(box.begin[d], box.end[d]).count();
  return elements;
}

}  // namespace

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

std::optional<size_t> TouchedChunks::find(const CodedArray& array, int64_t chunk) const {
  const std::pair wanted{array.unit_of(chunk).unit, chunk};
  const auto found = std::partition_point(
      chunks_.begin(), chunks_.end(), [&](const TouchedChunk& one) { return std::pair(one.unit, one.chunk) < wanted; });
  if (found == chunks_.end() || found->chunk != chunk) return std::nullopt;
  return static_cast<size_t>(found - chunks_.begin());
}

const std::vector<Part>& UnitShares::parts(int rank) {
  auto& kept = parts_[static_cast<size_t>(rank)];
  if (!kept.has_value()) kept = ranks_.parts(rank, array_.element_bytes);
  return *kept;
}

int64_t UnitShares::bytes(int64_t unit, int rank) {
  const Panel box = chunk_at(array_.shape, array_.unit_shape(), unit);
  int64_t elements = 0;
  for (const Part& part : parts(rank)) elements += elements_in(box, part);
  return elements * array_.element_bytes;
}

std::vector<int> UnitShares::ranks_of(int64_t unit) {
  std::vector<int> ranks;
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    if (bytes(unit, rank) > 0) ranks.push_back(rank);
  }
  return ranks;
}

bool UnitShares::holds_all(int64_t unit, int rank) {
  const Panel box = chunk_at(array_.shape, array_.unit_shape(), unit);
  int64_t elements = 1;
  for (size_t d = 0; d < box.begin.size(); ++d) elements *= box.end[d] - box.begin[d];
  return bytes(unit, rank) == elements * array_.element_bytes;
}

}  // namespace swath
