// Regions of a share that every rank can compute, as a product of index sets. Never a list.
//
// The share of one rank in one strided panel is a product of index sets, one a dimension. With the dimensions sorted by
// their stride in the file (slowest first), file order IS the lexicographic order of positions, so that
//
//   - every set of elements between two file offsets is a range [first, last) of linear positions,
//   - bytes, runs, bounds, "elements before offset x" and clipping are closed forms in the number of dimensions.
//
// Example: a 4 x 6 array of bytes in C order at offset 100, columns Cyclic(1), rank 0 of 2:
//   dimension 0: {0 1 2 3} x stride 6, dimension 1: {0 2 4} x stride 1; position 4 = (1, 1) starts at 100 + 6 + 2 =
//   108.
//
// An element belongs to a range of the file when its FIRST byte does; no element is ever split.
// Source: nested strides, ncio-2006 section 2.4 (datatype I/O); here with blocks, so that CYCLIC(k) is one level.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/run.h"
#include "space/index_set.h"

namespace swath {

struct RegionDimension {
  IndexSet indices;
  int64_t file_stride;    // bytes from one index to the next, in the file
  int64_t memory_stride;  // bytes from one POSITION to the next, in memory
};

class ProductRegions {
 public:
  ProductRegions() = default;
  // `file_origin`: offset of index 0 of every dimension. `memory_origin`: offset of position 0 of every dimension.
  // The layout guarantees that no two elements overlap and that dimensions nest (Layout::strided checks it).
  ProductRegions(int64_t file_origin, int64_t memory_origin, int64_t element_bytes,
                 std::vector<RegionDimension> dimensions);

  int64_t count() const { return count_; }
  int64_t bytes() const { return count_ * element_bytes_; }
  int64_t element_bytes() const { return element_bytes_; }
  int64_t begin_offset() const { return offset_of(0); }                          // first byte; requires count() > 0
  int64_t end_offset() const { return offset_of(count_ - 1) + element_bytes_; }  // one past the last byte

  // File offset of the element at a linear position.
  int64_t offset_of(int64_t position) const;
  // Its offset in memory.
  int64_t memory_of(int64_t position) const;
  // The number of elements that start before `offset`: [begin, end) of the file is [elements_before(begin),
  // elements_before(end)) of the positions.
  int64_t elements_before(int64_t offset) const;

  // Contiguous runs of the file, after coalescing, of the positions [first, last).
  //
  // Theorem: runs = elements - joins, where a join is a pair of successive elements that touch. Elements t and t + 1
  // differ at exactly one level d, all faster ones going from their last index to their first; they touch when
  //   (index step at d) * stride_d == element_bytes + sum over faster e of (back_e - front_e) * stride_e,
  // a number that does not depend on t. So the joins of a level are counted by IndexSet::steps_of.
  int64_t runs(int64_t first, int64_t last) const;
  int64_t runs() const { return runs(0, count_); }
  // The same, but a run also ends at every multiple of dense_positions(): the pieces of list I/O, each contiguous in
  // memory too.
  int64_t pieces(int64_t first, int64_t last) const;
  // Bytes of the largest equal blocks that form it.
  int64_t block_bytes() const { return solid_ * element_bytes_; }
  // Bytes of the longest run.
  //
  // Theorem: it lies inside one index of the level above the solid ones, or goes from the last run of one such index to
  // the first run of the next where these touch. Never further: an index of that level has at least two runs.
  int64_t longest_run() const;
  // The widest hole between consecutive elements; 0 if there is none.
  int64_t widest_hole() const;

  // Positions [k * n, (k + 1) * n) are contiguous in memory for n = dense_positions(): count() where all of it is.
  int64_t dense_positions() const { return dense_; }
  bool is_dense() const { return dense_ == count_; }
  int64_t memory_block_bytes() const { return dense_ * element_bytes_; }
  int64_t memory_end(int64_t position, int64_t last) const { return std::min(last, (position / dense_ + 1) * dense_); }
  int64_t memory_pieces(int64_t first, int64_t last) const { return (last - 1) / dense_ - first / dense_ + 1; }

  // The run that starts at `position` and the position after it, up to `last`. O(dimensions) a run.
  Run run_at(int64_t position, int64_t last) const;

  const std::vector<RegionDimension>& dimensions() const { return dimensions_; }
  // True if the regions differ only by a shift in the file and in memory.
  bool is_shifted(const ProductRegions& other) const;
  // The same regions with other places in memory: packed in file order from `origin` on.
  ProductRegions packed(int64_t origin) const;
  // The same places in memory, with the elements packed in the file from offset 0 on: the image of a packed message.
  ProductRegions packed_in_file() const;

 private:
  int64_t joins_before(int64_t transition, size_t slowest_level) const;

  int64_t file_origin_ = 0;
  int64_t memory_origin_ = 0;
  int64_t element_bytes_ = 1;
  int64_t count_ = 0;
  int64_t dense_ = 0;
  size_t dense_level_ = 0;                   // dimensions [dense_level_, n) are contiguous in memory
  int64_t solid_ = 1;                        // positions [k * solid_, (k + 1) * solid_) are contiguous in the file ...
  size_t solid_level_ = 0;                   // ... being all of the dimensions [solid_level_, n)
  std::vector<RegionDimension> dimensions_;  // slowest first; none with a single index
  std::vector<int64_t> inner_;               // elements of one index of dimension d
  std::vector<int64_t> touching_;            // stride_d * step that makes two elements of level d touch
};

}  // namespace swath
