// What is stored of chunks, found by looking at the sizes of files and the indices of shards. No chunk is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "chunks/chunks.h"
#include "plan/chunk_grid.h"

namespace swath {

// What a look found.
struct ChunkLook {
  ChunkGrid grid;                // of the array; knows what was seen
  std::optional<double> cached;  // part of the bytes seen that is in the page cache; nothing: not known
};

// Looks at the units that hold elements of the parts; where there are more than `units_max`, at so many of them, spread
// over all. Where a look fails nothing is known: reading will say why.
ChunkLook look_at_chunks(const CodedArray& array, std::span<const Part> parts, const ChunkOptions& options,
                         int64_t units_max);

}  // namespace swath
