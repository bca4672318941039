#include "layout/refine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/math.h"
#include "layout/box_walk.h"
#include "space/nest_node.h"

namespace swath {
namespace {

using Node = Nest::Node;

// A list of so many different forms is refined one by one; a longer one remains a pair of nests.
constexpr int64_t kFormsMax = 32;

// The bytes of each level that is repeated, innermost first; nothing where a level is listed.
std::optional<std::vector<int64_t>> repeated_bytes(const Node* node) {
  std::vector<int64_t> sizes;
  for (; node->kind != Node::Kind::kBlock; node = node->children[0].get()) {
    if (node->is_listed()) return std::nullopt;
    sizes.push_back(node->children[0]->all.bytes);
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

// The side of memory that belongs to positions of the file's nest.
class MemorySide {
 public:
  // `distance`: from a position of the file's nest to the data byte of `memory`.
  MemorySide(const View& file, const MemoryNest& memory) : nest_(memory.nest), distance_(memory.first - file.first) {
    const int64_t last = memory.first + file.bytes();
    if (nest_.runs(memory.first, last) == 1) {
      contiguous_ = nest_.offset_of(memory.first) - file.first;
    } else {
      sizes_ = repeated_bytes(nest_.node().get());
      // Breakpoints of memory must be multiples in the file's positions, too.
      if (sizes_ && distance_ % sizes_->back() != 0) sizes_.reset();
    }
  }

  bool is_regular() const { return contiguous_ || sizes_; }
  std::vector<int64_t> sizes() const { return contiguous_ ? std::vector<int64_t>() : *sizes_; }
  int64_t offset_of(int64_t position) const {
    return contiguous_ ? *contiguous_ + position : nest_.offset_of(position + distance_);
  }
  // From one repetition of so many bytes to the next.
  int64_t stride_of(int64_t size) const {
    if (contiguous_) return size;
    return size < nest_.bytes() ? nest_.offset_of(size) - nest_.offset_of(0) : 0;
  }

 private:
  const Nest& nest_;
  int64_t distance_;
  std::optional<int64_t> contiguous_;  // offset of position 0, were it there
  std::optional<std::vector<int64_t>> sizes_;
};

// The bytes of all levels of both sides, ascending, where each divides the next.
std::optional<std::vector<int64_t>> common_sizes(const std::vector<int64_t>& file, const std::vector<int64_t>& memory) {
  std::vector<int64_t> sizes;
  std::merge(file.begin(), file.end(), memory.begin(), memory.end(), std::back_inserter(sizes));
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] % sizes[i - 1] != 0) return std::nullopt;
  }
  return sizes;
}

void append_products(const View& file, const MemorySide& memory, const std::vector<int64_t>& sizes,
                     std::vector<Regions>& regions) {
  std::vector<int64_t> radix{1};  // bytes of one index of each dimension, fastest first
  for (const int64_t size : sizes) {
    if (size > radix.back()) radix.push_back(size);
  }
  std::reverse(radix.begin(), radix.end());
  std::vector<int64_t> counts{ceil_div(file.last, radix[0])};
  for (size_t d = 1; d < radix.size(); ++d) counts.push_back(radix[d - 1] / radix[d]);
  for_each_box(counts, file.first, file.last, [&](const auto& low, const auto& high) {
    std::vector<RegionDimension> dimensions;
    int64_t position = 0;
    int64_t origin = file.nest.origin();
    for (size_t d = 0; d < radix.size(); ++d) {
      const int64_t size = radix[d];
      const int64_t stride = size < file.nest.bytes() ? file.nest.offset_of(size) - file.nest.origin() : size;
      position += low[d] * size;
      // Counted from the box's begin: a product's indices, times a stride, stay within the view.
      origin += low[d] * stride;
      dimensions.push_back({IndexSet::range(0, high[d] - low[d]), stride, memory.stride_of(size)});
    }
    regions.emplace_back(ProductRegions(origin, memory.offset_of(position), 1, std::move(dimensions)));
  });
}

// The part of a view that child `i` of the outermost level has.
View part_of(const View& view, int64_t i, int64_t* skipped) {
  const Node& node = *view.nest.node();
  const int64_t before = node.bytes_before_child(i);
  const int64_t bytes = node.child_bytes(i);
  View part;
  part.nest = view.nest.child(i);
  part.first = std::clamp(view.first - before, int64_t{0}, bytes);
  part.last = std::clamp(view.last - before, part.first, bytes);
  *skipped = before + part.first - view.first;
  return part;
}

void append_refined(const View& file, const MemoryNest& memory, std::vector<Regions>& regions) {
  if (file.empty()) return;
  const Node& node = *file.nest.node();
  if (node.kind == Node::Kind::kSequence && node.count <= kFormsMax) {
    for (int64_t i = 0; i < node.count; ++i) {
      int64_t skipped = 0;
      const View part = part_of(file, i, &skipped);
      append_refined(part, {memory.nest, memory.first + skipped}, regions);
    }
    return;
  }
  const auto file_sizes = repeated_bytes(&node);
  const MemorySide side(file, memory);
  const auto sizes = file_sizes && side.is_regular() ? common_sizes(*file_sizes, side.sizes()) : std::nullopt;
  if (sizes) {
    append_products(file, side, *sizes, regions);
  } else {
    regions.emplace_back(ViewRegions(file, memory.nest, memory.first));
  }
}

}  // namespace

std::vector<Regions> refine(const View& file, const MemoryNest& memory) {
  std::vector<Regions> regions;
  append_refined(file, memory, regions);
  return regions;
}

}  // namespace swath
