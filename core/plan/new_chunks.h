// Chunks that no file has yet: planned as if each were stored and had been compressed alike. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/chunk_grid.h"

namespace swath {

struct NewChunks {
  Shape shape;
  Shape chunk_shape;
  Shape unit_shape;  // a shard's, a multiple of the chunk's; else the chunk's
  int64_t element_bytes = 1;
  std::vector<std::string> codecs;  // their names; none: stored as they are
  double ratio = 1;                 // bytes of a chunk to those that are stored of it
  bool is_table = false;            // all in one file; else a file a unit
};

// Throws Error{kArgument} where there can be no such chunks.
ChunkGrid grid_of(const NewChunks& chunks);

}  // namespace swath
