// One rank's elements in the file, in file order: its parts in all panels, or its view, still without a list.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/layout.h"
#include "layout/refine.h"
#include "space/decomposition.h"

namespace swath {

// Elements that start in [begin, limit) of the file; they fill [begin, end), and end - limit is less than one element.
struct Window {
  int64_t begin;
  int64_t end;
  int64_t limit;
  int64_t bytes() const { return end - begin; }
};

// Elements [first, last) of one part in one panel.
struct Slice {
  const Regions& regions;
  int64_t first;
  int64_t last;
  size_t part;  // whose memory it uses; a view has one part

  int64_t bytes() const { return (last - first) * regions.element_bytes(); }
};

class Access {
 public:
  Access(const Layout& layout, std::vector<Part> parts);
  // A view of a file, with memory beside it.
  Access(const Layout& layout, const View& view, const MemoryNest& memory);
  // The access of `rank`, and of all ranks together, each part packed in memory.
  static Access of(const Layout& layout, const Decomposition& decomposition, int rank);
  static Access together(const Layout& layout, const Decomposition& decomposition);

  int64_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  const Layout& layout() const { return *layout_; }
  // Windows are cut between elements; a view is cut anywhere, and this is 1.
  int64_t element_bytes() const { return element_bytes_; }
  // True if an element may be counted twice.
  bool may_overlap() const { return overlaps_ || parts_.size() > 1; }

  // Visits the elements that start in [begin, end), panel by panel in file order, and in each panel part by part. Both
  // sides of a packed message use this order.
  template <typename Visitor>
  void visit(int64_t begin, int64_t end, const Visitor& visitor) const {
    for (const Touch& touch : touches_in(begin, end)) {
      with_regions(touch, [&](const Regions& regions) {
        const size_t part = is_view_ ? 0 : touch.part;
        const Slice slice{regions, regions.elements_before(begin), regions.elements_before(end), part};
        if (slice.first < slice.last) visitor(slice);
      });
    }
  }
  template <typename Visitor>
  void visit_all(const Visitor& visitor) const {
    visit(0, INT64_MAX, visitor);
  }

  // Bytes of the elements that start in [begin, end).
  int64_t bytes_in(int64_t begin, int64_t end) const;
  // True if the elements cover every byte of the window.
  bool fills(const Window& window) const;
  // Contiguous runs of the elements that start in [begin, end); runs of different parts or panels count apart.
  int64_t runs_in(int64_t begin, int64_t end) const;
  int64_t runs() const { return runs_in(0, INT64_MAX); }

  // The next window at or after `cursor`, before `end`: from the first element to the next multiple of `window_bytes`,
  // so that windows of different ranks and rounds have common boundaries. Nullopt if no element is left.
  //
  // Example: window_bytes 100, elements of 8 bytes at 60, 92, 250: windows [60, 100) limit 100, and [250, 258) limit
  // 300.
  std::optional<Window> next_window(int64_t cursor, int64_t end, int64_t window_bytes) const;
  // Offset of the first element that starts at or after `cursor`; nullopt if none is left.
  std::optional<int64_t> next_start(int64_t cursor) const;
  // One past the last byte of the last element that starts before `limit`; nullopt if there is none.
  std::optional<int64_t> last_end(int64_t limit) const;

  // The regions, if one product describes all elements; else null. They let file domains have equal numbers of elements
  // instead of equal spans.
  const Regions* only_regions() const { return regions_.size() == 1 ? regions_.data() : nullptr; }

 private:
  explicit Access(const Layout& layout) : layout_(&layout), element_bytes_(layout.element_bytes()) {}
  void add(const View& view, const MemoryNest& memory);

  // A part with elements in a panel; each region of a view counts as a part.
  struct Touch {
    int64_t panel;
    size_t part;
  };

  // Those in panels that may hold bytes of [begin, end), as a range of touches_.
  std::span<const Touch> touches_in(int64_t begin, int64_t end) const;
  // Calls visitor(regions) for the elements of a touch.
  template <typename Visitor>
  void with_regions(const Touch& touch, const Visitor& visitor) const {
    if (!regions_.empty()) {
      visitor(regions_[touch.part]);
    } else {
      visitor(layout_->regions(layout_->panel(touch.panel), parts_[touch.part]));
    }
  }

  const Layout* layout_;
  std::vector<Part> parts_;
  std::vector<Touch> touches_;    // by panel, then by part
  std::vector<Regions> regions_;  // of each part, with a single panel or a view
  int64_t element_bytes_ = 1;
  bool is_view_ = false;
  bool overlaps_ = false;  // views with common bytes
  int64_t bytes_ = 0;
};

}  // namespace swath
