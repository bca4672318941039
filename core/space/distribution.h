// Which rank owns which elements: HPF's BLOCK and CYCLIC(k) over a process grid, of a whole array or of a selection.
//
// Source: two-phase I/O (del Rosario, Bordawekar, Choudhary 1993), section 2.1 and table 1; HPF 1.0, DISTRIBUTE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "space/index_set.h"

namespace swath {

using Shape = std::vector<int64_t>;

int64_t element_count(const Shape& shape);
std::string to_string(const Shape& shape);

// The rule by which one dimension of the array is distributed over one dimension of the process grid.
struct DimensionRule {
  enum class Kind { kWhole, kBlock, kCyclic };
  Kind kind = Kind::kWhole;
  // kBlock: elements a block, 0 for HPF's ceil(N / P). kCyclic: elements a block, at least 1.
  int64_t size = 0;

  friend bool operator==(const DimensionRule& a, const DimensionRule& b) = default;
};

std::string to_string(const DimensionRule& rule);

// NumPy basic slicing of one dimension, normalised: `count` indices start, start + step, ...; step may be negative.
struct DimensionSelection {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
  bool dropped = false;  // an integer index: one element, and the dimension disappears

  friend bool operator==(const DimensionSelection& a, const DimensionSelection& b) = default;
};

using Selection = std::vector<DimensionSelection>;

Selection select_all(const Shape& shape);
// True if it selects only indices in [0, extent).
bool lies_within(const DimensionSelection& dimension, int64_t extent);
void write(const Selection& selection, ByteWriter& writer);
// Reads the selection of an array with that shape.
Selection read_selection(ByteReader& reader, const Shape& shape);
// The shape that NumPy gives the selected array.
Shape selected_shape(const Selection& selection);

// A set of elements that is a product of one IndexSet a dimension of the ARRAY, and where each element is in memory:
// memory_origin + sum(position[d] * memory_strides[d]), positions ascending in the index of dimension d.
struct Part {
  std::vector<IndexSet> indices;
  int64_t memory_origin = 0;            // bytes
  std::vector<int64_t> memory_strides;  // bytes; may be negative; unused where a dimension has one index
  bool holds = true;  // false: no elements (an array without dimensions has no empty index set to show it)

  int64_t count() const;
};

// Ranks whose shares differ only by position: blocks, steps, periods and counts are the same in every dimension.
struct RankKind {
  int rank;       // one of them
  int64_t ranks;  // the number of ranks of the kind
};

class Distribution {
 public:
  // `grid` has one entry for each dimension, 1 for Whole; or one for each dimension that is not Whole (HPF's
  // PROCESSORS). `ranks`: the rank of the communicator at each place of the grid (row-major); empty: place i is rank i,
  // as in MPI_Cart_create without reordering. Throws Error{kArgument}.
  Distribution(std::vector<DimensionRule> rules, std::vector<int64_t> grid, std::vector<int> ranks = {});

  const std::vector<DimensionRule>& rules() const { return rules_; }
  const std::vector<int64_t>& grid() const { return grid_; }  // one entry a dimension
  const std::vector<int>& ranks() const { return ranks_; }
  int64_t places() const;  // number of ranks in the grid
  int highest_rank() const;
  bool holds(int rank) const;

  // The positions of the (selected) array that `rank` owns, one set a dimension; all empty beyond the grid. Throws
  // Error{kArgument} if the dimensions do not match, or if Block(k) leaves elements without an owner.
  std::vector<IndexSet> local_sets(const Shape& shape, int rank) const;
  Shape local_shape(const Shape& shape, int rank) const;
  void check(const Shape& shape) const;

  // The kinds of `ranks` ranks, including those beyond the grid. A kind with more than ranks / parts_min ranks is
  // listed in several parts. With parts_min == ranks every rank of the grid is listed.
  //
  // Theorem: in one dimension there are at most three kinds of place, and they follow each other: those that hold most,
  // at most one that ends within a block, those that hold least. For in blocks of b, dealt to P places, every place
  // holds b positions of each whole cycle of b * P, and place p holds clamp(r - p * b, 0, b) of the r positions that
  // are left. BLOCK is the same with a single cycle. So ranks are of at most 3^dimensions kinds, and one more that
  // holds nothing.
  //
  // Example: Cyclic(2) of 11 over 4 places is 0 1 | 2 3 | 4 5 | 6 7 || 8 9 | 10: place 0 holds four, place 1 three,
  // places 2 and 3 two.
  std::vector<RankKind> kinds(const Shape& shape, int ranks, int parts_min = 1) const;

  std::string to_string() const;
  void write(ByteWriter& writer) const;
  static Distribution read(ByteReader& reader);
  friend bool operator==(const Distribution& a, const Distribution& b) = default;

 private:
  std::vector<DimensionRule> rules_;
  std::vector<int64_t> grid_;
  std::vector<int> ranks_;
};

// The share of `rank` of the selected array. Memory is C-ordered and packed, in NumPy's order.
Part distributed_part(const Distribution& distribution, const Selection& selection, int rank, int64_t element_bytes);
// The union of all ranks' elements.
Part selected_part(const Selection& selection, int64_t element_bytes);
// A box [begin, end) of the array, in C-ordered packed memory.
Part box_part(const Shape& begin, const Shape& end, int64_t element_bytes);
// Places the elements of `part` in memory with `strides` (bytes) for the kept dimensions of the selection.
void place_in_memory(Part& part, const Selection& selection, const std::vector<int64_t>& strides);

}  // namespace swath
