#include "mpi_io/type_levels.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "mpi_io/offsets.h"
#include "space/nest_node.h"

namespace swath::mpi_io {
namespace {

// Four levels are kept free for a view, and for a count of elements, around the type.
constexpr int kDepthMax = Nest::kDepthMax - 4;
// If there are too many levels, parts with up to this many blocks are listed; the list takes 1 MiB.
constexpr int64_t kBlocksListedMax = int64_t{1} << 16;

// ---- too many levels --------------------------------------------------------------------------------------------

Nest listed(const Nest& nest) {
  std::vector<int64_t> offsets;
  std::vector<int64_t> lengths;
  for (int64_t position = 0; position < nest.bytes();) {
    const Nest::Run run = nest.run_at(position, nest.bytes());
    offsets.push_back(run.offset);
    lengths.push_back(run.bytes);
    position += run.bytes;
  }
  return Nest::blocks(std::move(offsets), std::move(lengths));
}

// Represents the same bytes with fewer levels: nests with few blocks become lists, and nested sequences become one.
class Flattening {
 public:
  Nest of(const Nest& nest) {
    const Nest::Node* node = nest.node().get();
    if (node == nullptr || node->kind == Nest::Node::Kind::kBlock || node->kind == Nest::Node::Kind::kBlocks) {
      return nest;
    }
    const auto known = known_.find(node);
    const Nest flat = known != known_.end() ? known->second : made(nest.shifted(-nest.origin()));
    known_.emplace(node, flat);
    return flat.shifted(nest.origin());
  }

 private:
  Nest made(const Nest& nest) {
    if (nest.runs() <= kBlocksListedMax) return listed(nest);
    const Nest::Node& node = *nest.node();
    if (node.kind == Nest::Node::Kind::kSequence) return joined(nest);
    const Nest child = of(nest.child(0));  // shifted to 0, like the nest
    if (node.kind == Nest::Node::Kind::kStrided) return Nest::strided(node.count, node.stride, child);
    return Nest::indexed(node.displacements, child);
  }

  Nest joined(const Nest& nest) {
    std::vector<Nest> parts;
    for (int64_t i = 0; i < nest.node()->count; ++i) {
      const Nest child = of(nest.child(i));
      if (child.node()->kind != Nest::Node::Kind::kSequence) {
        parts.push_back(child);
        continue;
      }
      for (int64_t j = 0; j < child.node()->count; ++j) parts.push_back(child.child(j));
    }
    return Nest::sequence(std::vector<int64_t>(parts.size(), 0), parts);
  }

  std::unordered_map<const Nest::Node*, Nest> known_;
};

// The nest, flattened if there is no room for one more level around it.
Nest with_room(const Nest& nest) {
  if (nest.depth() < kDepthMax) return nest;
  const Nest flat = Flattening().of(nest);
  if (flat.depth() < kDepthMax) return flat;
  fail_argument("datatype: more than " + std::to_string(kDepthMax) +
                " levels of which none can be joined; describe the innermost ones as one");
}

Nest strided(int64_t count, int64_t stride, const Nest& child) {
  return Nest::strided(count, stride, count > 1 ? with_room(child) : child);
}

// ---- lists ------------------------------------------------------------------------------------------------------

// Successive entries of a list with equal lengths, `spacing` bytes apart.
struct Piece {
  int64_t displacement;
  int64_t count;
  int64_t spacing;
  int64_t length;

  bool is_alike(const Piece& other) const {
    return count == other.count && length == other.length && spacing == other.spacing;
  }
};

// Pieces of this many entries on average take less memory than their entries.
constexpr size_t kEntriesPerPiece = 8;

// Divides a list into pieces that are as long as possible. Returns none if they are many and not all alike.
std::vector<Piece> pieces_of(const Entries& entries) {
  const auto& [displacements, lengths] = entries;
  std::vector<Piece> pieces;
  bool are_alike = true;
  for (size_t i = 0; i < displacements.size();) {
    Piece piece{.displacement = displacements[i], .count = 1, .spacing = 0, .length = lengths[i]};
    for (++i; i < displacements.size() && lengths[i] == piece.length; ++i) {
      const int64_t spacing = checked_sum(displacements[i], -displacements[i - 1]);
      if (piece.count > 1 && spacing != piece.spacing) break;
      piece.spacing = spacing;
      ++piece.count;
    }
    are_alike = are_alike && (pieces.empty() || piece.is_alike(pieces.front()));
    pieces.push_back(piece);
    if (!are_alike && pieces.size() * kEntriesPerPiece > displacements.size() + kEntriesPerPiece) return {};
  }
  return pieces;
}

Nest nest_of(const Element& element, Entries entries);

// Successive pieces that are alike become rows, and perhaps rows of rows.
Nest nest_of_pieces(const Element& element, const std::vector<Piece>& pieces) {
  std::map<std::tuple<int64_t, int64_t, int64_t>, Nest> known;
  Sequence sequence;
  for (size_t i = 0; i < pieces.size();) {
    const Piece& first = pieces[i];
    Nest& row = known[{first.count, first.spacing, first.length}];
    if (row.empty()) row = strided(first.count, first.spacing, repeated(element, first.length));
    Entries rows;
    for (; i < pieces.size() && pieces[i].is_alike(first); ++i) rows.displacements.push_back(pieces[i].displacement);
    if (rows.displacements.size() == 1) {
      sequence.add(first.displacement, row);
    } else {
      rows.lengths.assign(rows.displacements.size(), 1);
      sequence.add(0, nest_of({row, 0}, std::move(rows)));
    }
  }
  return sequence.take();
}

// For an irregular list of elements with holes and of different lengths: uses blocks whose length is the greatest
// common divisor of the lengths, if the list does not get much longer.
Nest nest_of_unequal(const Element& element, const Entries& entries) {
  const auto& [displacements, lengths] = entries;
  int64_t unit = 0;
  int64_t units = 0;
  for (const int64_t length : lengths) unit = std::gcd(unit, length);
  for (const int64_t length : lengths) units = checked_sum(units, length / unit);
  if (units <= 4 * std::ssize(lengths)) {
    std::vector<int64_t> places;
    places.reserve(static_cast<size_t>(units));
    for (size_t i = 0; i < lengths.size(); ++i) {
      for (int64_t at = 0; at < lengths[i]; at += unit) {
        places.push_back(checked_sum(displacements[i], checked_product(at, element.extent)));
      }
    }
    return Nest::indexed(places, with_room(repeated(element, unit)));
  }
  std::unordered_map<int64_t, Nest> known;
  Sequence sequence;
  for (size_t i = 0; i < lengths.size(); ++i) {
    Nest& nest = known[lengths[i]];
    if (nest.empty()) nest = repeated(element, lengths[i]);
    sequence.add(displacements[i], nest);
  }
  return sequence.take();
}

// Requires entries that are not empty and do not touch.
Nest nest_of(const Element& element, Entries entries) {
  auto& [displacements, lengths] = entries;
  if (displacements.empty() || element.nest.empty()) return {};
  if (displacements.size() == 1) return repeated(element, lengths[0]).shifted(displacements[0]);
  const std::vector<Piece> pieces = pieces_of(entries);
  if (pieces.size() == 1) {
    const Piece& piece = pieces.front();
    return strided(piece.count, piece.spacing, repeated(element, piece.length)).shifted(piece.displacement);
  }
  if (!pieces.empty()) return nest_of_pieces(element, pieces);
  if (std::all_of(lengths.begin(), lengths.end(), [&](int64_t length) { return length == lengths[0]; })) {
    return Nest::indexed(displacements, with_room(repeated(element, lengths[0])));
  }
  if (!element.is_contiguous()) return nest_of_unequal(element, entries);
  for (int64_t& length : lengths) length = checked_product(length, element.extent);
  return Nest::blocks(std::move(displacements), std::move(lengths));
}

// Removes empty entries, and joins each entry with the previous one if they touch.
void join(const Element& element, Entries& entries) {
  auto& [displacements, lengths] = entries;
  size_t kept = 0;
  int64_t end = 0;  // where an element after the last kept entry would begin
  for (size_t i = 0; i < displacements.size(); ++i) {
    if (lengths[i] <= 0) continue;
    if (kept > 0 && displacements[i] == end) {
      lengths[kept - 1] = checked_sum(lengths[kept - 1], lengths[i]);
    } else {
      displacements[kept] = displacements[i];
      lengths[kept] = lengths[i];
      ++kept;
    }
    end = checked_sum(displacements[i], checked_product(lengths[i], element.extent));
  }
  displacements.resize(kept);
  lengths.resize(kept);
}

}  // namespace

bool Element::is_contiguous() const {
  return nest.bytes() == extent && nest.origin() == 0 && nest.longest_run() == extent;
}

Nest repeated(const Element& element, int64_t count) { return strided(count, element.extent, element.nest); }

Nest vector_of(const Element& element, int64_t count, int64_t length, int64_t stride) {
  return strided(count, stride, repeated(element, length));
}

Nest indexed_of(const Element& element, Entries entries) {
  join(element, entries);
  return nest_of(element, std::move(entries));
}

void Sequence::add(int64_t displacement, const Nest& nest) {
  if (nest.empty()) return;
  if (nest.node()->kind == Nest::Node::Kind::kBlock) {
    add_block(checked_sum(displacement, nest.origin()), nest.bytes());
    return;
  }
  join_blocks();
  displacements_.push_back(displacement);
  nests_.push_back(with_room(nest));
}

void Sequence::add_block(int64_t displacement, int64_t bytes) {
  blocks_.displacements.push_back(displacement);
  blocks_.lengths.push_back(bytes);
}

void Sequence::join_blocks() {
  const Nest nest = indexed_of({Nest::block(1), 1}, std::exchange(blocks_, {}));
  if (nest.empty()) return;
  displacements_.push_back(0);
  nests_.push_back(nest);
}

Nest Sequence::take() {
  join_blocks();
  return Nest::sequence(displacements_, nests_);
}

// ---- arrays -----------------------------------------------------------------------------------------------------

namespace {

// The dimensions in order, the fastest varying first.
std::vector<size_t> fastest_first(size_t dimensions, Order order) {
  std::vector<size_t> indices(dimensions);
  std::iota(indices.begin(), indices.end(), size_t{0});
  if (order == Order::kC) std::reverse(indices.begin(), indices.end());
  return indices;
}

// One process's indices of a dimension, which are `stride` bytes apart; each index contains `inner`.
Nest share_of(const Darray::Dimension& dimension, int64_t stride, const Nest& inner) {
  const auto& [size, block, processes, process] = dimension;
  const int64_t first = checked_product(process, block);
  const int64_t step = checked_product(processes, block);
  const int64_t whole = first + block > size ? 0 : (size - first - block) / step + 1;
  const int64_t tail = checked_sum(first, checked_product(whole, step));
  Sequence sequence;
  sequence.add(checked_product(first, stride),
               strided(whole, checked_product(step, stride), strided(block, stride, inner)));
  sequence.add(checked_product(tail, stride), strided(std::min(size - tail, block), stride, inner));
  return sequence.take();
}

}  // namespace

Nest subarray_of(const Element& element, const Subarray& box) {
  Nest nest = element.nest;
  int64_t stride = element.extent;
  for (const size_t d : fastest_first(box.sizes.size(), box.order)) {
    nest = strided(box.subsizes[d], stride, nest).shifted(checked_product(box.starts[d], stride));
    stride = checked_product(stride, box.sizes[d]);
  }
  return nest;
}

Nest darray_of(const Element& element, const Darray& array) {
  Nest nest = element.nest;
  int64_t stride = element.extent;
  for (const size_t d : fastest_first(array.dimensions.size(), array.order)) {
    nest = share_of(array.dimensions[d], stride, nest);
    stride = checked_product(stride, array.dimensions[d].size);
  }
  return nest;
}

}  // namespace swath::mpi_io
