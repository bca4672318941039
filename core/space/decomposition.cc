#include "space/decomposition.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/units.h"

namespace swath {
namespace {

std::string corners(const Box& box) { return swath::to_string(box.begin) + " to " + swath::to_string(box.end); }

// Throws Error{kArgument} for a box outside `shape`; `who` has it.
void check_boxes(const Boxes& boxes, const Shape& shape, const std::string& who) {
  for (const Box& box : boxes) {
    const std::string where = who + "box " + corners(box) + ": ";
    if (box.begin.size() != shape.size() || box.end.size() != shape.size()) {
      fail_argument(where + "expected corners of " + std::to_string(shape.size()) + " dimensions");
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (box.begin[d] < 0 || box.end[d] < box.begin[d] || box.end[d] > shape[d]) {
        fail_argument(where + "dimension " + std::to_string(d) + " must lie within [0, " + std::to_string(shape[d]) +
                      ") with start <= stop");
      }
    }
  }
}

struct OwnedBox {
  const Box* box;
  size_t rank;
};

// The dimension along which the boxes have the most different begins: there the fewest boxes lie beside each other.
// Boxes of columns, for instance, all begin at the first level of a model, but at different columns.
size_t most_divided_dimension(const std::vector<OwnedBox>& owned, size_t dimensions) {
  size_t best = 0;
  std::ptrdiff_t most = -1;
  for (size_t d = 0; d < dimensions; ++d) {
    std::vector<int64_t> begins;
    begins.reserve(owned.size());
    for (const OwnedBox& one : owned) begins.push_back(one.box->begin[d]);
    std::sort(begins.begin(), begins.end());
    const std::ptrdiff_t different = std::unique(begins.begin(), begins.end()) - begins.begin();
    if (different <= most) continue;
    most = different;
    best = d;
  }
  return best;
}

// How a decomposition is called in its bytes.
enum class Kind { kAlone, kDistributed, kShareOf, kBoxes, kViews };

}  // namespace

Decomposition Decomposition::distributed(Distribution distribution, Selection selection, int ranks) {
  distribution.check(selected_shape(selection));
  if (distribution.highest_rank() >= ranks) {
    fail_argument("distribution " + distribution.to_string() + " needs " +
                  std::to_string(distribution.highest_rank() + 1) + " ranks, there are " + std::to_string(ranks) +
                  "; give a smaller grid or start more ranks");
  }
  Decomposition decomposition;
  decomposition.ranks_ = ranks;
  decomposition.distribution_.push_back(std::move(distribution));
  decomposition.selection_ = std::move(selection);
  return decomposition;
}

Decomposition Decomposition::boxes(std::vector<Boxes> boxes_of_rank, const Shape& shape) {
  for (size_t rank = 0; rank < boxes_of_rank.size(); ++rank) {
    check_boxes(boxes_of_rank[rank], shape, "rank " + std::to_string(rank) + ": ");
  }
  Decomposition decomposition;
  decomposition.ranks_ = static_cast<int>(boxes_of_rank.size());
  decomposition.selection_ = select_all(shape);
  decomposition.boxes_ = std::make_shared<const std::vector<Boxes>>(std::move(boxes_of_rank));
  return decomposition;
}

Decomposition Decomposition::own_boxes(Boxes own, int rank, int ranks, const Shape& shape) {
  check_boxes(own, shape, "");
  std::vector<Boxes> boxes_of_rank(static_cast<size_t>(ranks));
  boxes_of_rank[static_cast<size_t>(rank)] = std::move(own);
  Decomposition decomposition;
  decomposition.ranks_ = ranks;
  decomposition.selection_ = select_all(shape);
  decomposition.boxes_ = std::make_shared<const std::vector<Boxes>>(std::move(boxes_of_rank));
  decomposition.knows_all_ranks_ = ranks == 1;
  return decomposition;
}

Decomposition Decomposition::views(std::vector<View> view_of_rank, const Shape& shape, bool allows_overlap) {
  for (size_t rank = 0; rank < view_of_rank.size(); ++rank) {
    try {
      view_of_rank[rank].check();
    } catch (const Error& error) {
      throw Error(error.kind(), "rank " + std::to_string(rank) + ": " + error.what());
    }
  }
  Decomposition decomposition;
  decomposition.ranks_ = static_cast<int>(view_of_rank.size());
  decomposition.selection_ = select_all(shape);
  decomposition.views_ = std::make_shared<const Views>(std::move(view_of_rank));
  decomposition.allows_overlap_ = allows_overlap;
  return decomposition;
}

Decomposition Decomposition::with_overlap(bool allows) const {
  Decomposition other = *this;
  other.allows_overlap_ = allows;
  return other;
}

Decomposition Decomposition::own_view(View own, int rank, int ranks, const Shape& shape, bool allows_overlap) {
  own.check();
  std::vector<View> view_of_rank(static_cast<size_t>(ranks));
  view_of_rank[static_cast<size_t>(rank)] = std::move(own);
  Decomposition decomposition = views(std::move(view_of_rank), shape, allows_overlap);
  decomposition.knows_all_ranks_ = ranks == 1;
  return decomposition;
}

Decomposition Decomposition::alone(Selection selection) {
  Decomposition decomposition;
  decomposition.selection_ = std::move(selection);
  return decomposition;
}

Decomposition Decomposition::share_of(Distribution distribution, Selection selection, int rank) {
  distribution.check(selected_shape(selection));
  Decomposition decomposition;
  decomposition.distribution_.push_back(std::move(distribution));
  decomposition.selection_ = std::move(selection);
  decomposition.only_rank_ = rank;
  return decomposition;
}

std::vector<Part> Decomposition::parts(int rank, int64_t element_bytes) const {
  std::vector<Part> parts;
  if (is_views()) return parts;
  if (is_boxes()) {
    for (const auto& box : (*boxes_)[static_cast<size_t>(rank)]) {
      parts.push_back(box_part(box.begin, box.end, element_bytes));
    }
  } else if (distribution_.empty()) {
    parts.push_back(selected_part(selection_, element_bytes));
  } else {
    const int place = only_rank_ >= 0 ? only_rank_ : rank;
    parts.push_back(distributed_part(distribution_[0], selection_, place, element_bytes));
  }
  return parts;
}

std::vector<RankKind> Decomposition::kinds(int parts_min) const {
  if (ranks_ == 1) return {{0, 1}};
  if (!is_gathered()) return distribution_[0].kinds(selected_shape(selection_), ranks_, parts_min);
  std::vector<RankKind> kinds;
  for (int rank = 0; rank < ranks_; ++rank) kinds.push_back({rank, 1});
  return kinds;
}

std::vector<Part> Decomposition::together(int64_t element_bytes) const {
  if (only_rank_ >= 0) return parts(0, element_bytes);
  std::vector<Part> all;
  if (!is_gathered()) {
    all.push_back(selected_part(selection_, element_bytes));
    return all;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    auto parts_of_rank = parts(rank, element_bytes);
    all.insert(all.end(), parts_of_rank.begin(), parts_of_rank.end());
  }
  return all;
}

int Decomposition::busiest_rank() const {
  if (is_views()) {
    const auto& views = views_->of_rank;
    const auto fewer = [](const View& a, const View& b) { return a.bytes() < b.bytes(); };
    return static_cast<int>(std::max_element(views.begin(), views.end(), fewer) - views.begin());
  }
  if (is_boxes()) {
    const auto elements = [](const Boxes& boxes) {
      int64_t count = 0;
      for (const Box& box : boxes) count += box_part(box.begin, box.end, 1).count();
      return count;
    };
    std::vector<int64_t> counts;
    for (const auto& boxes : *boxes_) counts.push_back(elements(boxes));
    return static_cast<int>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }
  if (only_rank_ >= 0 || distribution_.empty() || distribution_[0].ranks().empty()) return 0;
  return distribution_[0].ranks().front();
}

SharedByte Decomposition::Views::shared() const {
  if (!has_looked_) {
    const SharedByte found = shared_byte(of_rank);
    rank_ = found.rank;
    other_ = found.other;
    offset_ = found.offset;
    has_looked_ = true;
  }
  return {rank_, other_, offset_};
}

uint64_t Decomposition::Views::key(int rank) const {
  const auto place = static_cast<size_t>(rank);
  if (keys_[place] == 0) {
    ByteWriter writer;
    of_rank[place].write(writer);
    keys_[place] = std::max<uint64_t>(hash_bytes(writer.bytes(), static_cast<uint64_t>(rank) + 1), 1);
  }
  return keys_[place];
}

uint64_t Decomposition::gathered_key(int rank) const {
  return is_views() ? views_->key(rank) : hash_bytes(share_bytes_of(rank), static_cast<uint64_t>(rank) + 1);
}

bool Decomposition::are_disjoint() const {
  if (is_views()) return views_->shared().rank < 0;
  return !is_boxes();
}

void Decomposition::check_written_once() const {
  if (is_views() && !allows_overlap_ && !are_disjoint()) {
    const SharedByte shared = views_->shared();
    fail_argument("write of views: ranks " + std::to_string(shared.rank) + " and " + std::to_string(shared.other) +
                  " both have byte " + std::to_string(shared.offset) +
                  " of the file; each byte must be written once (or allow overlaps: one of the values then stays)");
  }
  if (!is_boxes()) return;  // a distribution gives each element to one rank
  std::vector<OwnedBox> owned;
  for (size_t rank = 0; rank < boxes_->size(); ++rank) {
    for (const auto& box : (*boxes_)[rank]) {
      bool empty = false;
      for (size_t d = 0; d < box.begin.size(); ++d) empty = empty || box.begin[d] == box.end[d];
      if (!empty) owned.push_back({&box, rank});
    }
  }
  const size_t swept = most_divided_dimension(owned, selection_.size());
  if (!selection_.empty()) {
    std::sort(owned.begin(), owned.end(),
              [swept](const OwnedBox& a, const OwnedBox& b) { return a.box->begin[swept] < b.box->begin[swept]; });
  }
  // A sweep along one dimension: a box is compared with those that start before it ends.
  for (size_t i = 0; i < owned.size(); ++i) {
    for (size_t j = i + 1; j < owned.size(); ++j) {
      const Box& a = *owned[i].box;
      const Box& b = *owned[j].box;
      if (!a.begin.empty() && b.begin[swept] >= a.end[swept]) break;
      bool overlap = true;
      for (size_t d = 0; d < a.begin.size(); ++d) overlap = overlap && a.begin[d] < b.end[d] && b.begin[d] < a.end[d];
      if (overlap) {
        fail_argument("write of boxes: rank " + std::to_string(owned[i].rank) + "'s box " + corners(a) + " and rank " +
                      std::to_string(owned[j].rank) + "'s box " + corners(b) +
                      " share elements; each element must be written once (pass views without the ghost cells)");
      }
    }
  }
}

std::string Decomposition::to_string() const {
  if (is_boxes()) {
    size_t count = 0;
    for (const auto& boxes_here : *boxes_) count += boxes_here.size();
    return std::to_string(count) + " boxes of " + std::to_string(ranks_) + " ranks";
  }
  if (is_views()) {
    int levels = 0;
    int64_t listed = 0;
    int64_t memory_bytes = 0;
    for (const View& view : views_->of_rank) {
      levels = std::max(levels, view.nest.depth());
      listed += view.nest.listed();
      memory_bytes += view.nest.memory_bytes();
    }
    std::string text = "views of " + std::to_string(ranks_) + " ranks, " + std::to_string(levels) +
                       (levels == 1 ? " level, " : " levels, ");
    if (listed > 0) text += with_commas(listed) + " listed places, ";
    text += in_bytes(memory_bytes) + " of memory";
    return text + (allows_overlap_ ? ", which may overlap" : "");
  }
  std::string text = distribution_.empty() ? "whole" : distribution_[0].to_string();
  if (only_rank_ >= 0) text += ", share of rank " + std::to_string(only_rank_);
  return text;
}

std::vector<Shape> Decomposition::local_shapes(int rank) const {
  std::vector<Shape> shapes;
  if (is_views()) return {{view(rank).bytes()}};
  if (is_boxes()) {
    for (const Box& box : (*boxes_)[static_cast<size_t>(rank)]) {
      Shape& shape = shapes.emplace_back(box.begin.size());
      for (size_t d = 0; d < shape.size(); ++d) shape[d] = box.end[d] - box.begin[d];
    }
    return shapes;
  }
  const Shape selected = selected_shape(selection_);
  const int place = only_rank_ >= 0 ? only_rank_ : rank;
  shapes.push_back(distribution_.empty() ? selected : distribution_[0].local_shape(selected, place));
  return shapes;
}

void write(const Boxes& boxes, ByteWriter& writer) {
  writer.put(std::ssize(boxes));
  for (const Box& box : boxes) {
    for (const int64_t corner : box.begin) writer.put(corner);
    for (const int64_t corner : box.end) writer.put(corner);
  }
}

Boxes read_boxes(ByteReader& reader, size_t dimensions) {
  const int64_t box_bytes = std::max<int64_t>(16 * static_cast<int64_t>(dimensions), 1);
  Boxes boxes(static_cast<size_t>(reader.count(box_bytes)));
  for (Box& box : boxes) {
    for (Shape* corner : {&box.begin, &box.end}) {
      corner->resize(dimensions);
      for (int64_t& index : *corner) index = reader.number();
    }
  }
  return boxes;
}

std::vector<std::byte> Decomposition::share_bytes_of(int rank) const {
  ByteWriter writer;
  if (is_boxes()) swath::write((*boxes_)[static_cast<size_t>(rank)], writer);
  if (is_views()) view(rank).write(writer);
  return writer.take();
}

Decomposition Decomposition::with_gathered(const std::vector<std::vector<std::byte>>& gathered_by_rank,
                                           const Shape& shape) const {
  std::vector<Boxes> boxes_of_rank;
  std::vector<View> view_of_rank;
  for (const auto& bytes : gathered_by_rank) {
    ByteReader reader("the share of a rank", bytes);
    if (is_boxes()) boxes_of_rank.push_back(read_boxes(reader, shape.size()));
    if (is_views()) view_of_rank.push_back(View::read(reader));
    reader.expect_end();
  }
  return is_boxes() ? boxes(std::move(boxes_of_rank), shape) : views(std::move(view_of_rank), shape, allows_overlap_);
}

void Decomposition::write(ByteWriter& writer, bool with_gathered) const {
  const Kind kind = is_boxes()              ? Kind::kBoxes
                    : is_views()            ? Kind::kViews
                    : only_rank_ >= 0       ? Kind::kShareOf
                    : distribution_.empty() ? Kind::kAlone
                                            : Kind::kDistributed;
  writer.put(static_cast<int64_t>(kind));
  if (is_gathered()) {
    if (is_views()) writer.put(allows_overlap_ ? 1 : 0);
    writer.put(ranks_);
    for (int rank = 0; rank < ranks_ && with_gathered; ++rank) writer.put_raw(share_bytes_of(rank));
    return;
  }
  swath::write(selection_, writer);
  if (kind != Kind::kAlone) {
    distribution_[0].write(writer);
    writer.put(kind == Kind::kShareOf ? only_rank_ : ranks_);
  }
}

Decomposition Decomposition::read(ByteReader& reader, const Shape& shape) {
  const auto kind = static_cast<Kind>(reader.number_in(0, 5, "the kind of a decomposition"));
  if (kind == Kind::kViews) {
    const bool allows_overlap = reader.flag("whether views may overlap");
    std::vector<View> view_of_rank(static_cast<size_t>(reader.count(sizeof(int64_t))));
    for (View& view : view_of_rank) view = View::read(reader);
    return views(std::move(view_of_rank), shape, allows_overlap);
  }
  if (kind == Kind::kBoxes) {
    std::vector<Boxes> boxes_of_rank(static_cast<size_t>(reader.count(sizeof(int64_t))));
    for (Boxes& boxes : boxes_of_rank) boxes = read_boxes(reader, shape.size());
    return boxes(std::move(boxes_of_rank), shape);
  }
  Selection selection = read_selection(reader, shape);
  if (kind == Kind::kAlone) return alone(std::move(selection));
  Distribution distribution = Distribution::read(reader);
  const auto number = static_cast<int>(reader.number_in(0, INT_MAX, "a number of ranks"));
  return kind == Kind::kShareOf ? share_of(std::move(distribution), std::move(selection), number)
                                : distributed(std::move(distribution), std::move(selection), number);
}

}  // namespace swath
