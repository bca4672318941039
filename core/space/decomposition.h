// Which ranks take part in an operation, and which elements each of them holds: a distribution, boxes, or one rank
// alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "space/distribution.h"

namespace swath {

// [begin, end) of the array.
struct Box {
  Shape begin;
  Shape end;

  friend bool operator==(const Box& a, const Box& b) = default;
};
using Boxes = std::vector<Box>;

void write(const Boxes& boxes, ByteWriter& writer);
// Of an array of so many dimensions.
Boxes read_boxes(ByteReader& reader, size_t dimensions);

// Whose elements are whose.
class Decomposition {
 public:
  // The selected array dealt out over `ranks` ranks. Throws Error{kArgument} where the grid has more places.
  static Decomposition distributed(Distribution distribution, Selection selection, int ranks);
  // Explicit boxes of every rank (adaptive meshes). Throws Error{kArgument} for a box outside `shape`.
  static Decomposition boxes(std::vector<Boxes> boxes_of_rank, const Shape& shape);
  // The same as one rank knows it, before the ranks have told each other: of the others nothing is known.
  static Decomposition own_boxes(Boxes own, int rank, int ranks, const Shape& shape);
  // One rank alone that wants a whole selection, or one rank's share of a distribution over others.
  static Decomposition alone(Selection selection);
  static Decomposition share_of(Distribution distribution, Selection selection, int rank);

  int ranks() const { return ranks_; }
  // What `rank` holds; a distribution gives one part, boxes one part each.
  std::vector<Part> parts(int rank, int64_t element_bytes) const;
  // Ranks whose shares differ only by where they lie (Distribution::kinds). With boxes each rank is a kind of its own.
  std::vector<RankKind> kinds(int parts_min = 1) const;
  // What all hold together.
  std::vector<Part> together(int64_t element_bytes) const;
  // The rank that holds most (of equals the lowest): the first place of a grid, whose blocks are never the ragged ones.
  int busiest_rank() const;
  // Throws Error{kArgument} where two boxes share an element: written twice, it would have an unknown value.
  void check_written_once() const;
  // Elements of one kept dimension: where a part's memory is not packed, the caller places it with this selection.
  const Selection& selection() const { return selection_; }
  bool is_boxes() const { return boxes_ != nullptr; }
  bool knows_all_ranks() const { return knows_all_ranks_; }
  const std::vector<Boxes>& boxes_of_rank() const { return *boxes_; }
  // What a part is called in memory: the shape of each of `rank`'s parts, as NumPy would return it.
  std::vector<Shape> local_shapes(int rank) const;

  std::string to_string() const;
  // `with_boxes` false: what all ranks know of boxes is that there are some.
  void write(ByteWriter& writer, bool with_boxes = true) const;
  static Decomposition read(ByteReader& reader, const Shape& shape);

 private:
  int ranks_ = 1;
  std::vector<Distribution> distribution_;  // none or one
  Selection selection_;
  int only_rank_ = -1;                               // share_of
  std::shared_ptr<const std::vector<Boxes>> boxes_;  // of every rank; shared by plans, for there may be many
  bool knows_all_ranks_ = true;
};

}  // namespace swath
