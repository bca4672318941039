// The chunks of an array for planning: their grid, which of them are coded, and the stored bytes of each.
//
// A *unit* is stored, and replaced, as a whole: a chunk, or a shard, which holds a grid of chunks and an index.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "space/distribution.h"

namespace swath {

struct ChunkGrid {
  Shape shape;
  Shape chunk_shape;  // chunks at the edge are whole, too
  Shape unit_shape;   // a multiple of it
  int64_t element_bytes = 1;
  std::vector<std::string> codecs;  // their names, in the order of encoding
  bool is_table = false;            // all in one file; false: one file a unit
  int64_t index_bytes = 0;          // stored, of a shard's index; 0 without shards
  // True if a chunk must be decoded to read its elements: false if it is stored without coding, or known to be absent.
  std::function<bool(int64_t chunk)> is_coded;
  // Its bytes in the file, -1 if it is absent; nullopt if its file must be looked at first.
  std::function<std::optional<int64_t>(int64_t chunk)> stored_bytes;

  // True if a unit is stored; nullopt if its file must be looked at first.
  std::function<std::optional<bool>(int64_t unit)> unit_is_stored;

  std::vector<int64_t> chunk_strides;  // bytes, inside a decoded chunk; empty: C order

  int64_t chunk_bytes() const { return element_count(chunk_shape) * element_bytes; }
  // The unit that a chunk is stored in, both in C order of their grids.
  int64_t unit_of(int64_t chunk) const;
};

}  // namespace swath
