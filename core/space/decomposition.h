// Which ranks take part in an operation, and which elements each holds: a distribution, boxes, views, or one rank
// alone. A rank knows only its own boxes or view at first, and gathers those of the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
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
// Reads the boxes of an array with so many dimensions.
Boxes read_boxes(ByteReader& reader, size_t dimensions);

// The assignment of elements to ranks.
class Decomposition {
 public:
  // Distributes the selected array over `ranks` ranks. Throws Error{kArgument} if the grid has more places.
  static Decomposition distributed(Distribution distribution, Selection selection, int ranks);
  // Explicit boxes of every rank (adaptive meshes). Throws Error{kArgument} for a box outside `shape`.
  static Decomposition boxes(std::vector<Boxes> boxes_of_rank, const Shape& shape);
  // The same with one rank's boxes only, before the shares are gathered.
  static Decomposition own_boxes(Boxes own, int rank, int ranks, const Shape& shape);
  // The bytes of the file that each rank has. `allows_overlap`: written views may share bytes, which then get the value
  // of one of them. Throws Error{kArgument} for an invalid view.
  static Decomposition views(std::vector<View> view_of_rank, const Shape& shape, bool allows_overlap = false);
  static Decomposition own_view(View own, int rank, int ranks, const Shape& shape, bool allows_overlap = false);
  // One rank alone: with a whole selection, or with its share of a distribution over other ranks.
  static Decomposition alone(Selection selection);
  static Decomposition share_of(Distribution distribution, Selection selection, int rank);

  int ranks() const { return ranks_; }
  // The parts of `rank`: a distribution has one part, boxes one part each, views none (view()).
  std::vector<Part> parts(int rank, int64_t element_bytes) const;
  // Groups of ranks whose shares differ only by their position (Distribution::kinds). With boxes or views, each rank is
  // a kind of its own.
  std::vector<RankKind> kinds(int parts_min = 1) const;
  // The union of all shares.
  std::vector<Part> together(int64_t element_bytes) const;
  // The rank with the most elements (the lowest of equals): place 0 of a grid, whose blocks are never the ragged ones.
  int busiest_rank() const;
  // Throws Error{kArgument} if two boxes share an element, or two views a byte without allows_overlap: an element
  // written twice would have an undefined value.
  void check_written_once() const;
  // True if no two ranks share an element, as far as is known without comparing boxes.
  bool are_disjoint() const;
  // The caller places a part with this selection in memory that is not packed.
  const Selection& selection() const { return selection_; }
  // Null unless a distribution divides the selection.
  const Distribution* distribution() const { return distribution_.empty() ? nullptr : distribution_.data(); }
  // The rank whose share one rank alone has (share_of); else nullopt.
  std::optional<int> only_rank() const { return only_rank_ < 0 ? std::nullopt : std::optional(only_rank_); }
  bool is_boxes() const { return boxes_ != nullptr; }
  bool is_views() const { return views_ != nullptr; }
  // True if each rank knows only its own share until the shares are gathered.
  bool is_gathered() const { return is_boxes() || is_views(); }
  const View& view(int rank) const { return views_->of_rank[static_cast<size_t>(rank)]; }
  bool allows_overlap() const { return allows_overlap_; }
  // The same with another value of allows_overlap.
  Decomposition with_overlap(bool allows) const;
  bool knows_all_ranks() const { return knows_all_ranks_; }
  const std::vector<Boxes>& boxes_of_rank() const { return *boxes_; }
  // The shapes of the parts of `rank`, as NumPy would return them.
  std::vector<Shape> local_shapes(int rank) const;

  std::string to_string() const;
  // `with_gathered` false: writes only that there are boxes or views, which all ranks know.
  void write(ByteWriter& writer, bool with_gathered = true) const;
  static Decomposition read(ByteReader& reader, const Shape& shape);
  // The bytes that `rank` sends to the others, and the same decomposition with all shares.
  std::vector<std::byte> share_bytes_of(int rank) const;
  // A hash of this rank's share and its number.
  uint64_t gathered_key(int rank) const;
  Decomposition with_gathered(const std::vector<std::vector<std::byte>>& gathered_by_rank, const Shape& shape) const;

 private:
  struct Views {
    explicit Views(std::vector<View> views) : of_rank(std::move(views)), keys_(of_rank.size()) {}
    const std::vector<View> of_rank;
    // A byte that several views share, and hashes of the shares. Views may list very many places, so these are computed
    // once. They use no lock, which a forked child might find locked; threads that compute at the same time get the
    // same result.
    SharedByte shared() const;
    uint64_t key(int rank) const;

   private:
    mutable std::atomic<bool> has_looked_{false};
    mutable std::atomic<int> rank_{-1};
    mutable std::atomic<int> other_{-1};
    mutable std::atomic<int64_t> offset_{-1};
    mutable std::vector<std::atomic<uint64_t>> keys_;  // 0: not computed
  };

  int ranks_ = 1;
  std::vector<Distribution> distribution_;  // empty, or one
  Selection selection_;
  int only_rank_ = -1;                               // share_of
  std::shared_ptr<const std::vector<Boxes>> boxes_;  // of every rank; shared by plans, for there may be many
  std::shared_ptr<const Views> views_;
  bool allows_overlap_ = false;
  bool knows_all_ranks_ = true;
};

}  // namespace swath
