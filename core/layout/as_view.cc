#include "layout/as_view.h"

#include <ranges>
#include <vector>

namespace swath {
namespace {

// The child at each index of a set, `stride` bytes from one index to the next.
Nest at_indices(const IndexSet& indices, int64_t stride, const Nest& child) {
  std::vector<StridedPiece> pieces;
  indices.pieces(0, indices.count(), pieces);
  std::vector<int64_t> displacements;
  std::vector<Nest> children;
  for (const StridedPiece& piece : pieces) {
    displacements.push_back(piece.index * stride);
    const Nest inner = Nest::strided(piece.inner, piece.inner_step * stride, child);
    children.push_back(Nest::strided(piece.outer, piece.outer_step * stride, inner));
  }
  return Nest::sequence(displacements, children);
}

}  // namespace

ViewRegions as_view(const Regions& regions) {
  if (regions.view() != nullptr) return *regions.view();
  const ProductRegions& product = *regions.product();
  if (product.count() == 0) return {};
  Nest file = Nest::block(product.element_bytes());
  Nest memory = file;
  for (const RegionDimension& dimension : std::views::reverse(product.dimensions())) {
    file = at_indices(dimension.indices, dimension.file_stride, file);
    memory = Nest::strided(dimension.indices.count(), dimension.memory_stride, memory);
  }
  file = file.shifted(product.offset_of(0) - file.offset_of(0));
  memory = memory.shifted(product.memory_of(0) - memory.offset_of(0));
  return {View::all(file), memory, 0};
}

}  // namespace swath
