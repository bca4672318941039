// Which chunks hold elements of which parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chunks/coded_array.h"

namespace swath {

struct TouchedChunk {
  int64_t unit;
  int64_t chunk;
  size_t first_part;  // of those that touch it
  size_t part_count;
};

// The chunks that hold elements of any part, sorted by unit and then by chunk, each once.
class TouchedChunks {
 public:
  TouchedChunks(const CodedArray& array, std::span<const Part> parts);

  const std::vector<TouchedChunk>& chunks() const { return chunks_; }
  // Indices of the parts that touch it.
  std::span<const size_t> parts(const TouchedChunk& chunk) const {
    return std::span(parts_).subspan(chunk.first_part, chunk.part_count);
  }

 private:
  std::vector<TouchedChunk> chunks_;
  std::vector<size_t> parts_;
};

}  // namespace swath
