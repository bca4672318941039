// Finds which chunks are stored, by the sizes of files and the indices of shards. It reads no chunk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "chunks/chunks.h"
#include "plan/chunk_grid.h"

namespace swath {

// The result of a look.
struct ChunkLook {
  ChunkGrid grid;                // the grid of the array, with what was found
  std::optional<double> cached;  // the cached part of the bytes found; nullopt: unknown
};

// Looks at the units that hold elements of the parts; if there are more than `units_max`, at so many of them, evenly
// spread. A failed look yields nothing: the read will report the error.
ChunkLook look_at_chunks(const CodedArray& array, std::span<const Part> parts, const ChunkOptions& options,
                         int64_t units_max);

}  // namespace swath
