// Which byte of the file holds which element: the paper's M1 (two-phase-1993, section 2.2).
//
// A layout is a set of panels. A panel is a box of the array with fixed strides in one range of the file: the whole
// array for any order, with header offsets or netCDF records; one chunk for HDF5.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "layout/regions.h"
#include "space/distribution.h"

namespace swath {

struct Panel {
  Shape begin;  // [begin, end) of the array
  Shape end;
  int64_t offset;                // file offset of element `begin`
  std::vector<int64_t> strides;  // bytes
};

// The dimensions from slowest to fastest of an array in C order.
std::vector<int> c_order(size_t dimensions);
// The elements of `part` in one panel; memory places are those of `part`.
Regions regions_in(const Panel& panel, const Part& part, int64_t element_bytes);
// The strides in bytes of a dense array whose dimensions vary in `order`, slowest first.
std::vector<int64_t> strides_in_order(const Shape& shape, int64_t element_bytes, const std::vector<int>& order);
// Chunks [begin, end) along one dimension of the grid.
struct ChunkRun {
  int64_t begin;
  int64_t end;
};
// The chunks of one dimension that hold any of `indices`, ascending.
//
// Theorem: where no two successive indices are further apart than a chunk is long, none is skipped between the first
// and the last: one run.
std::vector<ChunkRun> chunk_runs(const IndexSet& indices, int64_t extent, int64_t chunk_extent);
// The chunks of the grid that hold elements of `part`, as positions in C order, ascending.
std::vector<int64_t> chunks_of(const Shape& shape, const Shape& chunk_shape, const Part& part);
// The elements [begin, end) of a chunk of the grid; its offset is 0 and it has no strides yet.
Panel chunk_at(const Shape& shape, const Shape& chunk_shape, int64_t position);

class Layout {
 public:
  // Element i is at offset + sum(i[d] * strides[d]). Throws Error{kFormat} where elements would overlap or dimensions
  // would not nest (every stride at least the extent of all faster dimensions).
  static Layout strided(Shape shape, int64_t element_bytes, int64_t offset, std::vector<int64_t> strides);
  // `order`: dimensions from slowest to fastest; C is 0, 1, 2 ...
  static Layout ordered(const Shape& shape, int64_t element_bytes, int64_t offset, const std::vector<int>& order);
  // Chunks in C order of their grid, each C-ordered and stored as a whole at the edges; offset -1: absent.
  static Layout chunked(Shape shape, int64_t element_bytes, Shape chunk_shape, std::vector<int64_t> offsets);
  // The same with all chunks contiguous from `offset` on; it needs no table.
  static Layout tiled(Shape shape, int64_t element_bytes, Shape chunk_shape, int64_t offset);

  const Shape& shape() const { return shape_; }
  int64_t element_bytes() const { return element_bytes_; }
  bool is_chunked() const { return is_chunked_; }
  bool is_tiled() const { return is_tiled_; }
  bool has_absent_chunks() const { return !is_tiled_ && panel_count() < chunk_count_; }
  int64_t chunk_bytes() const;  // 0 unless chunked

  // The stored panels, in the order of their offsets.
  int64_t panel_count() const {
    if (is_tiled_) return chunk_count_;
    return is_chunked() ? static_cast<int64_t>(by_offset_.size()) : 1;
  }
  Panel panel(int64_t index) const;
  // Indices [first, last) of the panels that may have bytes in [begin, end) of the file.
  std::pair<int64_t, int64_t> panels_in(int64_t begin, int64_t end) const;
  // The panels that hold elements of `part`, ascending.
  std::vector<int64_t> panels_of(const Part& part) const;
  // The elements of `part` in one panel; memory places are those of `part`.
  Regions regions(const Panel& panel, const Part& part) const;
  // The same for a single panel: not chunked.
  Regions regions(const Part& part) const;

  // Chunks that are not stored: their elements have the fill value.
  std::vector<Panel> absent_panels() const;

  // "C order at offset 128", "F order ...", "records of 1,024 bytes ...", "chunks of (16, 16) ..."
  std::string to_string() const;
  // Omits shape and element size.
  void write(ByteWriter& writer) const;
  static Layout read(ByteReader& reader, Shape shape, int64_t element_bytes);

 private:
  Panel chunk(int64_t linear) const;
  // Of chunks numbered in C order of their grid, and of panels.
  int64_t offset_of_chunk(int64_t linear) const;
  int64_t chunk_of_panel(int64_t index) const;
  int64_t panel_of_chunk(int64_t linear) const;  // -1 if it is absent

  Shape shape_;
  int64_t element_bytes_ = 1;
  int64_t offset_ = 0;
  std::vector<int64_t> strides_;
  bool is_chunked_ = false;  // also true for one chunk of an array without dimensions
  bool is_tiled_ = false;    // chunked, and chunk i is at offset_ + i * chunk_bytes(): the tables are empty
  Shape chunk_shape_;
  int64_t chunk_count_ = 0;
  std::vector<int64_t> offsets_;    // of every chunk
  std::vector<int64_t> by_offset_;  // the chunks in the file, sorted by offset
  std::vector<int64_t> place_of_;   // of every chunk: its index in by_offset_; -1 if it is absent
};

}  // namespace swath
