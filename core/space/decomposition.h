// Which ranks take part in an operation, and which elements each of them holds: a distribution, boxes, views, or one
// rank alone. Of boxes and views each rank knows its own, and gathers those of the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "space/distribution.h"
#include "space/view.h"

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
  // The same as one rank knows it, before the shares are gathered: of the others nothing is known.
  static Decomposition own_boxes(Boxes own, int rank, int ranks, const Shape& shape);
  // The bytes of the file that each rank has. `allows_overlap`: writes may share bytes, which then have the value of
  // one of them. Throws Error{kArgument} for what is no view of a file.
  static Decomposition views(std::vector<View> view_of_rank, const Shape& shape, bool allows_overlap = false);
  static Decomposition own_view(View own, int rank, int ranks, const Shape& shape, bool allows_overlap = false);
  // One rank alone that wants a whole selection, or one rank's share of a distribution over others.
  static Decomposition alone(Selection selection);
  static Decomposition share_of(Distribution distribution, Selection selection, int rank);

  int ranks() const { return ranks_; }
  // What `rank` holds; a distribution gives one part, boxes one part each, views none (view()).
  std::vector<Part> parts(int rank, int64_t element_bytes) const;
  // Ranks whose shares differ only by where they lie (Distribution::kinds). Of what is gathered each rank is a kind of
  // its own.
  std::vector<RankKind> kinds(int parts_min = 1) const;
  // What all hold together.
  std::vector<Part> together(int64_t element_bytes) const;
  // The rank that holds most (of equals the lowest): the first place of a grid, whose blocks are never the ragged ones.
  int busiest_rank() const;
  // Throws Error{kArgument} where two boxes share an element, or two views a byte and that is not allowed: written
  // twice, it would have an unknown value.
  void check_written_once() const;
  // Whether no two ranks share an element, as far as it is known without a look at boxes.
  bool are_disjoint() const;
  // Elements of one kept dimension: where a part's memory is not packed, the caller places it with this selection.
  const Selection& selection() const { return selection_; }
  bool is_boxes() const { return boxes_ != nullptr; }
  bool is_views() const { return views_ != nullptr; }
  // Whether each rank knows its own share alone until the shares are gathered.
  bool is_gathered() const { return is_boxes() || is_views(); }
  const View& view(int rank) const { return views_->of_rank[static_cast<size_t>(rank)]; }
  bool allows_overlap() const { return allows_overlap_; }
  // The same, with what another operation on it allows.
  Decomposition with_overlap(bool allows) const;
  bool knows_all_ranks() const { return knows_all_ranks_; }
  const std::vector<Boxes>& boxes_of_rank() const { return *boxes_; }
  // What a part is called in memory: the shape of each of `rank`'s parts, as NumPy would return it.
  std::vector<Shape> local_shapes(int rank) const;

  std::string to_string() const;
  // `with_gathered` false: what all ranks know of boxes, or views, is that there are some.
  void write(ByteWriter& writer, bool with_gathered = true) const;
  static Decomposition read(ByteReader& reader, const Shape& shape);
  // What `rank` sends the others; and the same decomposition, with the shares of all.
  std::vector<std::byte> share_bytes_of(int rank) const;
  // A hash of it and of the rank.
  uint64_t gathered_key(int rank) const;
  Decomposition with_gathered(const std::vector<std::vector<std::byte>>& gathered_by_rank, const Shape& shape) const;

 private:
  struct Views {
    explicit Views(std::vector<View> views) : of_rank(std::move(views)), keys_(of_rank.size()) {}
    const std::vector<View> of_rank;
    // Of all of them; and a hash of what a rank tells. Views may list very many places: looked for once, and without a
    // lock, which a forked child might find taken. Threads that look at once find the same.
    SharedByte shared() const;
    uint64_t key(int rank) const;

   private:
    mutable std::atomic<bool> has_looked_{false};
    mutable std::atomic<int> rank_{-1};
    mutable std::atomic<int> other_{-1};
    mutable std::atomic<int64_t> offset_{-1};
    mutable std::vector<std::atomic<uint64_t>> keys_;  // 0: not known
  };

  int ranks_ = 1;
  std::vector<Distribution> distribution_;  // none or one
  Selection selection_;
  int only_rank_ = -1;                               // share_of
  std::shared_ptr<const std::vector<Boxes>> boxes_;  // of every rank; shared by plans, for there may be many
  std::shared_ptr<const Views> views_;
  bool allows_overlap_ = false;
  bool knows_all_ranks_ = true;
};

}  // namespace swath
