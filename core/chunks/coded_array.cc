#include "chunks/coded_array.h"

#include "base/error.h"
#include "base/math.h"
#include "base/units.h"

namespace swath {
namespace {

// The maximum of a decoded chunk, and of all chunks of a shard: sums of a few of them fit into 64 bits.
constexpr int64_t kChunkBytesMax = INT64_MAX / 64;
// The mask of a chunk's skipped codecs has one bit for each codec.
constexpr size_t kCodecsMax = 32;

[[noreturn]] void fail_format(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kFormat, path + ": " + what);
}

int64_t grid_size(const std::string& path, const Shape& shape, const Shape& chunk_shape) {
  int64_t chunks = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (__builtin_mul_overflow(chunks, ceil_div(shape[d], chunk_shape[d]), &chunks)) {
      fail_format(path, "more than 2^63 chunks");
    }
  }
  return chunks;
}

}  // namespace

std::string ChunkFiles::name(const Shape& coordinates) const {
  if (coordinates.empty()) return scalar;
  std::string name = first;
  for (size_t d = 0; d < coordinates.size(); ++d) {
    if (d > 0) name += separator;
    name += std::to_string(coordinates[d]);
  }
  return name;
}

Shape coordinates_of(const Shape& shape, const Shape& chunk_shape, int64_t position) {
  Shape coordinates(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t chunks = ceil_div(shape[d], chunk_shape[d]);
    coordinates[d] = position % chunks;
    position /= chunks;
  }
  return coordinates;
}

void CodedArray::check() const {
  if (element_bytes < 1) fail_format(path, "an element of " + std::to_string(element_bytes) + " bytes");
  if (chunk_shape.size() != shape.size() || chunk_strides.size() != shape.size()) {
    fail_format(path, "chunks of " + to_string(chunk_shape) + " for an array of " + to_string(shape));
  }
  if (static_cast<int64_t>(fill.size()) != element_bytes) fail_format(path, "the fill value is not one element");
  int64_t bytes = element_bytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || chunk_shape[d] < 1) {
      fail_format(path, "chunks of " + to_string(chunk_shape) + " for an array of " + to_string(shape));
    }
    bytes = multiply_or_max(bytes, chunk_shape[d]);
  }
  if (bytes > kChunkBytesMax) {
    fail_format(path, "chunks of " + to_string(chunk_shape) + " with elements of " + std::to_string(element_bytes) +
                          " bytes are larger than " + with_commas(kChunkBytesMax) + " bytes");
  }
  if (codecs.codecs().size() > kCodecsMax) {
    fail_format(path,
                std::to_string(codecs.codecs().size()) + " codecs; expected at most " + std::to_string(kCodecsMax));
  }
  const int64_t chunks = grid_size(path, shape, chunk_shape);
  if (const auto* table = std::get_if<ChunkTable>(&places)) {
    const auto entries = static_cast<size_t>(chunks);
    if (table->offsets.size() != entries || table->bytes.size() != entries || table->skipped.size() != entries) {
      fail_format(path, std::to_string(table->offsets.size()) + " places for " + std::to_string(chunks) + " chunks");
    }
  }
  if (shards() == nullptr) return;
  int64_t shard_bytes = element_bytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t extent = d < shards()->shape.size() ? shards()->shape[d] : 0;
    if (extent < 1 || extent % chunk_shape[d] != 0) {
      fail_format(path,
                  "shards of " + to_string(shards()->shape) + " are not whole chunks of " + to_string(chunk_shape));
    }
    shard_bytes = multiply_or_max(shard_bytes, extent);
  }
  if (shard_bytes > kChunkBytesMax) {
    fail_format(path, "shards of " + to_string(shards()->shape) + " with elements of " + std::to_string(element_bytes) +
                          " bytes are larger than " + with_commas(kChunkBytesMax) + " bytes");
  }
}

Panel CodedArray::chunk(int64_t position) const {
  Panel panel = chunk_at(shape, chunk_shape, position);
  panel.strides = chunk_strides;
  return panel;
}

std::string CodedArray::chunk_name(int64_t position) const {
  return "chunk " + to_string(coordinates_of(shape, chunk_shape, position)) + " of " + path;
}

CodedArray::InUnit CodedArray::unit_of(int64_t chunk) const {
  if (shards() == nullptr) return {chunk, 0};
  const Shape at = coordinates_of(shape, chunk_shape, chunk);
  InUnit found{0, 0};
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t chunks = shards()->shape[d] / chunk_shape[d];
    found.unit = found.unit * ceil_div(shape[d], shards()->shape[d]) + at[d] / chunks;
    found.index = found.index * chunks + at[d] % chunks;
  }
  return found;
}

int64_t CodedArray::chunks_of_unit() const {
  int64_t chunks = 1;
  for (size_t d = 0; d < shape.size(); ++d) chunks *= unit_shape()[d] / chunk_shape[d];
  return chunks;
}

std::vector<int64_t> CodedArray::chunks_in(int64_t unit) const {
  const Shape at = coordinates_of(shape, unit_shape(), unit);
  std::vector<int64_t> chunks{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t per_unit = unit_shape()[d] / chunk_shape[d];
    const int64_t grid = ceil_div(shape[d], chunk_shape[d]);
    std::vector<int64_t> longer;
    longer.reserve(chunks.size() * static_cast<size_t>(per_unit));
    for (const int64_t outer : chunks) {
      for (int64_t i = 0; i < per_unit; ++i) {
        const int64_t first = at[d] * per_unit;
        longer.push_back(outer < 0 || i >= grid - first ? -1 : outer * grid + first + i);
      }
    }
    chunks = std::move(longer);
  }
  return chunks;
}

ChunkGrid CodedArray::grid() const {
  ChunkGrid grid{shape, chunk_shape, unit_shape(), element_bytes, {}, false, 0, {}, {}, {}, chunk_strides};
  for (const Codec& codec : codecs.codecs()) grid.codecs.push_back(to_string(codec.kind));
  if (const auto* table = std::get_if<ChunkTable>(&places)) {
    grid.is_table = true;
    grid.is_coded = [this, table](int64_t chunk) {
      const auto entry = static_cast<size_t>(chunk);
      return table->offsets[entry] >= 0 && !codecs.is_plain(table->skipped[entry]);
    };
    grid.stored_bytes = [table](int64_t chunk) {
      const auto entry = static_cast<size_t>(chunk);
      return std::optional(table->offsets[entry] < 0 ? -1 : table->bytes[entry]);
    };
    grid.unit_is_stored = [table](int64_t unit) { return table->offsets[static_cast<size_t>(unit)] >= 0; };
    return grid;
  }
  grid.is_coded = [is_coded = !codecs.is_plain()](int64_t) { return is_coded; };
  grid.stored_bytes = [](int64_t) { return std::optional<int64_t>(); };
  grid.unit_is_stored = [](int64_t) { return std::optional<bool>(); };
  if (shards() != nullptr)
    grid.index_bytes = shards()->index_codecs.stored_bytes_max(kIndexEntryBytes * chunks_of_unit());
  return grid;
}

std::string CodedArray::file_name(int64_t unit) const {
  const ChunkFiles& files = shards() == nullptr ? std::get<ChunkFiles>(places) : shards()->files;
  return files.name(coordinates_of(shape, unit_shape(), unit));
}

}  // namespace swath
