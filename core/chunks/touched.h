// The chunks with elements of given parts, and the units with elements of given ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "chunks/coded_array.h"
#include "space/decomposition.h"

namespace swath {

struct TouchedChunk {
  int64_t unit;
  int64_t chunk;
  size_t first_part;  // of the parts that touch it
  size_t part_count;
};

// The chunks that hold elements of any part, sorted by unit and then by chunk, each once.
class TouchedChunks {
 public:
  TouchedChunks(const CodedArray& array, std::span<const Part> parts);

  const std::vector<TouchedChunk>& chunks() const { return chunks_; }
  // The index of a chunk in this list; nullopt if it is not there.
  std::optional<size_t> find(const CodedArray& array, int64_t chunk) const;
  // Indices of the parts that touch it.
  std::span<const size_t> parts(const TouchedChunk& chunk) const {
    return std::span(parts_).subspan(chunk.first_part, chunk.part_count);
  }

 private:
  std::vector<TouchedChunk> chunks_;
  std::vector<size_t> parts_;
};

// Which part of each unit each rank of a decomposition holds. For one thread at a time: it computes parts on demand.
class UnitShares {
 public:
  UnitShares(const CodedArray& array, const Decomposition& decomposition) : array_(array), ranks_(decomposition) {
    parts_.resize(static_cast<size_t>(decomposition.ranks()));
  }

  const std::vector<Part>& parts(int rank);
  int64_t bytes(int64_t unit, int rank);
  // The ranks with elements of the unit, ascending.
  std::vector<int> ranks_of(int64_t unit);
  // True if a rank holds all of its elements, so that no other rank does: no element is written twice.
  bool holds_all(int64_t unit, int rank);

 private:
  const CodedArray& array_;
  const Decomposition& ranks_;
  std::vector<std::optional<std::vector<Part>>> parts_;
};

}  // namespace swath
