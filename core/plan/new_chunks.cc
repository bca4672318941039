#include "plan/new_chunks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace swath {
namespace {

// Of a shard's index, and the checksum behind it. Source: Zarr version 3, codec sharding_indexed 1.0.
constexpr int64_t kEntryBytes = 16;
constexpr int64_t kIndexChecksumBytes = 4;

void check(const NewChunks& chunks) {
  const auto fail = [](const std::string& what) { throw Error(ErrorKind::kArgument, "chunks: " + what); };
  const size_t ndim = chunks.shape.size();
  if (chunks.chunk_shape.size() != ndim || chunks.unit_shape.size() != ndim) {
    fail("expected a length of a chunk, and of a unit, for each of " + std::to_string(ndim) + " dimensions");
  }
  for (size_t d = 0; d < ndim; ++d) {
    if (chunks.chunk_shape[d] < 1 || chunks.unit_shape[d] < 1 || chunks.unit_shape[d] % chunks.chunk_shape[d] != 0) {
      fail("dimension " + std::to_string(d) + ": expected units of whole chunks of at least 1 element");
    }
  }
  if (!(chunks.ratio > 0) || !std::isfinite(chunks.ratio)) fail("ratio: expected more than 0");
  if (chunks.element_bytes < 1) fail("element_bytes: expected at least 1");
}

}  // namespace

ChunkGrid grid_of(const NewChunks& chunks) {
  check(chunks);
  ChunkGrid grid;
  grid.shape = chunks.shape;
  grid.chunk_shape = chunks.chunk_shape;
  grid.unit_shape = chunks.unit_shape;
  grid.element_bytes = chunks.element_bytes;
  grid.codecs = chunks.codecs;
  grid.is_table = chunks.is_table;
  if (chunks.unit_shape != chunks.chunk_shape) {
    const int64_t of_unit = element_count(chunks.unit_shape) / element_count(chunks.chunk_shape);
    grid.index_bytes = kEntryBytes * of_unit + kIndexChecksumBytes;
  }
  const bool is_coded = !chunks.codecs.empty();
  const double bytes = static_cast<double>(grid.chunk_bytes()) / (is_coded ? chunks.ratio : 1);
  const int64_t stored = std::max<int64_t>(std::llround(bytes), 1);
  grid.is_coded = [is_coded](int64_t) { return is_coded; };
  grid.stored_bytes = [stored](int64_t) { return std::optional(stored); };
  grid.unit_is_stored = [](int64_t) { return std::optional(true); };
  return grid;
}

}  // namespace swath
