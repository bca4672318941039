// Regions: a structured set of byte ranges of a file with their places in memory. Regular ranges never become a list.
// Elements have positions, in file order. This class hides the form of the set: a product of index sets, or the nests
// of a view.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "layout/product_regions.h"
#include "layout/run.h"
#include "layout/view_regions.h"

namespace swath {

class Regions {
  template <typename Ask>
  auto of(const Ask& ask) const {
    return std::visit(ask, form_);
  }

 public:
  Regions() = default;
  Regions(ProductRegions product) : form_(std::move(product)) {}  // NOLINT: a form of it
  Regions(ViewRegions view) : form_(std::move(view)) {}           // NOLINT: a form of it
  Regions(int64_t file_origin, int64_t memory_origin, int64_t element_bytes, std::vector<RegionDimension> dimensions)
      : form_(ProductRegions(file_origin, memory_origin, element_bytes, std::move(dimensions))) {}

  int64_t count() const {
    return of([](const auto& form) { return form.count(); });
  }
  // 1 for a view: positions count bytes, and it may be cut anywhere.
  int64_t element_bytes() const {
    return of([](const auto& form) { return form.element_bytes(); });
  }
  int64_t bytes() const { return count() * element_bytes(); }
  int64_t begin_offset() const { return offset_of(0); }                            // first byte; requires count() > 0
  int64_t end_offset() const { return offset_of(count() - 1) + element_bytes(); }  // one past the last byte

  // File offset of the element at a linear position, and its offset in memory.
  int64_t offset_of(int64_t position) const {
    return of([&](const auto& form) { return form.offset_of(position); });
  }
  int64_t memory_of(int64_t position) const {
    return of([&](const auto& form) { return form.memory_of(position); });
  }
  // How many elements start before `offset`: with it, [begin, end) of the file is [elements_before(begin),
  // elements_before(end)) of the positions.
  int64_t elements_before(int64_t offset) const {
    return of([&](const auto& form) { return form.elements_before(offset); });
  }

  // Contiguous runs of the file of the positions [first, last).
  int64_t runs(int64_t first, int64_t last) const {
    return of([&](const auto& form) { return form.runs(first, last); });
  }
  int64_t runs() const { return runs(0, count()); }
  // The same, but a run also ends where memory does: the pieces of list I/O. An upper bound for a view.
  int64_t pieces(int64_t first, int64_t last) const {
    return of([&](const auto& form) { return form.pieces(first, last); });
  }
  // Bytes of the equal blocks that form it: at least one element, with its contiguous neighbours.
  int64_t block_bytes() const {
    return of([](const auto& form) { return form.block_bytes(); });
  }
  // Bytes of the longest run; an upper bound for a part of a view.
  int64_t longest_run() const {
    return of([](const auto& form) { return form.longest_run(); });
  }
  // The widest hole between consecutive elements; 0 if there is none; an upper bound for a part of a view.
  int64_t widest_hole() const {
    return of([](const auto& form) { return form.widest_hole(); });
  }
  // The run that starts at `position` and the position after it, up to `last`. O(dimensions) a run.
  Run run_at(int64_t position, int64_t last) const {
    return of([&](const auto& form) { return form.run_at(position, last); });
  }

  // True if all of it, or the positions [first, last), are one contiguous piece of memory.
  bool is_dense() const {
    return of([](const auto& form) { return form.is_dense(); });
  }
  bool dense(int64_t first, int64_t last) const { return memory_pieces(first, last) == 1; }
  // The number of contiguous memory pieces of the positions [first, last), and the position after the first.
  int64_t memory_pieces(int64_t first, int64_t last) const {
    return of([&](const auto& form) { return form.memory_pieces(first, last); });
  }
  int64_t memory_end(int64_t position, int64_t last) const {
    return of([&](const auto& form) { return form.memory_end(position, last); });
  }
  // Contiguous bytes in memory: of each piece of a product, the average over the pieces of a view.
  int64_t memory_block_bytes() const {
    return of([](const auto& form) { return form.memory_block_bytes(); });
  }

  // True if the regions differ only by a shift in the file and in memory.
  bool is_shifted(const Regions& other) const;
  // The same regions with other places in memory: packed in file order from `origin` on.
  Regions packed(int64_t origin) const {
    return of([&](const auto& form) { return Regions(form.packed(origin)); });
  }
  // The same places in memory, with the elements packed in the file from offset 0 on: the image of a packed message.
  Regions packed_in_file() const {
    return of([](const auto& form) { return Regions(form.packed_in_file()); });
  }

  // One of the two is null.
  const ProductRegions* product() const { return std::get_if<ProductRegions>(&form_); }
  const ViewRegions* view() const { return std::get_if<ViewRegions>(&form_); }

 private:
  std::variant<ProductRegions, ViewRegions> form_;
};

inline bool Regions::is_shifted(const Regions& other) const {
  if (product() != nullptr && other.product() != nullptr) return product()->is_shifted(*other.product());
  return view() != nullptr && other.view() != nullptr && view()->is_shifted(*other.view());
}

}  // namespace swath
