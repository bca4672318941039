// Chunks of an array that is not stored yet: planned as if all were stored with the same compression ratio. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/chunk_grid.h"

namespace swath {

struct NewChunks {
  Shape shape;
  Shape chunk_shape;
  Shape unit_shape;  // the shape of a shard, a multiple of the chunk's; without shards the chunk's
  int64_t element_bytes = 1;
  std::vector<std::string> codecs;  // their names; empty: chunks are not coded
  double ratio = 1;                 // the bytes of a chunk divided by its stored bytes
  bool is_table = false;            // all in one file; false: one file a unit
};

// Throws Error{kArgument} for invalid chunks.
ChunkGrid grid_of(const NewChunks& chunks);

}  // namespace swath
