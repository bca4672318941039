#include "space/intersection.h"

#include <algorithm>
#include <numeric>

namespace swath {
namespace {

// Runs of indices that follow each other.
int64_t blocks_of(const IndexSet& set) {
  std::vector<StridedPiece> pieces;
  set.pieces(0, set.count(), pieces);
  int64_t blocks = 0;
  for (const auto& piece : pieces) blocks += piece.outer * (piece.inner_step == 1 ? 1 : piece.inner);
  return blocks;
}

// Calls visit(piece) for what both hold of [begin, end): each block of the one that has fewer cuts a piece out of the
// other.
template <typename Visit>
void for_each_common_piece(const IndexSet& a, const IndexSet& b, int64_t begin, int64_t end, const Visit& visit) {
  IndexSet coarse = a.clip(begin, end);
  IndexSet fine = b.clip(begin, end);
  if (blocks_of(coarse) > blocks_of(fine)) std::swap(coarse, fine);
  std::vector<StridedPiece> pieces;
  int64_t length = 0;
  for (int64_t position = 0; position < coarse.count(); position += length) {
    length = coarse.step() == 1 ? coarse.rest_of_block(position) : 1;
    const int64_t index = coarse.at(position);
    const IndexSet common = fine.clip(index, index + length);
    pieces.clear();
    common.pieces(0, common.count(), pieces);
    for (const auto& piece : pieces) visit(piece);
  }
}

}  // namespace

std::vector<SharedPiece> intersection(const IndexSet& from, const IndexSet& to) {
  std::vector<SharedPiece> shared;
  if (from.empty() || to.empty()) return shared;
  const int64_t begin = std::max(from.front(), to.front());
  const int64_t end = std::min(from.back(), to.back()) + 1;
  if (begin >= end) return shared;
  // The least common multiple, or all where it is more than that.
  const int64_t factor = from.period() / std::gcd(from.period(), to.period());
  const int64_t period = factor > (end - begin) / to.period() ? end - begin : factor * to.period();
  const auto add = [&](const StridedPiece& piece, int64_t turns) {
    SharedPiece found{from.count_below(piece.index), to.count_below(piece.index), {}};
    const auto add_loop = [&](int64_t count, int64_t step) {
      if (count == 1) return;
      const int64_t next = piece.index + step;
      found.loops.push_back({count, from.count_below(next) - found.from, to.count_below(next) - found.to});
    };
    add_loop(turns, period);
    add_loop(piece.outer, piece.outer_step);
    add_loop(piece.inner, piece.inner_step);
    shared.push_back(std::move(found));
  };
  for_each_common_piece(from, to, begin, begin + period, [&](const StridedPiece& piece) {
    const int64_t last = piece.index + (piece.outer - 1) * piece.outer_step + (piece.inner - 1) * piece.inner_step;
    const int64_t turns = (end - 1 - last) / period + 1;
    add(piece, turns);
    // Between the first and the last index of a piece there is nothing of another.
    const int64_t cut = piece.index + turns * period;
    for_each_common_piece(from, to, cut, end, [&](const StridedPiece& rest) { add(rest, 1); });
  });
  return shared;
}

}  // namespace swath
