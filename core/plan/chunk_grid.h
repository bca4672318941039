// The chunks of an array as planning sees them: a grid, which of them are coded, and how many bytes are stored of each.
//
// A *unit* is what is stored, and replaced, as one: a chunk, or a shard, which holds a grid of chunks and an index.
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
  bool is_table = false;            // all in one file; else a file a unit
  int64_t index_bytes = 0;          // stored, of a shard's index; 0 without shards
  // Whether a chunk must be decoded before one of its elements is known: not one that is stored as it is, nor one that
  // is known not to be stored.
  std::function<bool(int64_t chunk)> is_coded;
  // Its bytes in the file, -1 where it is not stored; nothing where only a look at its file tells.
  std::function<std::optional<int64_t>(int64_t chunk)> stored_bytes;

  // Whether a unit is stored; nothing where only a look tells.
  std::function<std::optional<bool>(int64_t unit)> unit_is_stored;

  std::vector<int64_t> chunk_strides;  // bytes, inside a decoded chunk; empty: C order

  int64_t chunk_bytes() const { return element_count(chunk_shape) * element_bytes; }
  // The unit that a chunk is stored in, both in C order of their grids.
  int64_t unit_of(int64_t chunk) const;
};

}  // namespace swath
