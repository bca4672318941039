#include "layout/access.h"

#include <algorithm>
#include <ranges>

namespace swath {

Access::Access(const Layout& layout, std::vector<Part> parts)
    : layout_(&layout), parts_(std::move(parts)), element_bytes_(layout.element_bytes()) {
  if (layout.is_chunked()) {
    for (size_t part = 0; part < parts_.size(); ++part) {
      for (const int64_t panel : layout.panels_of(parts_[part])) touches_.push_back({panel, part});
    }
    std::stable_sort(touches_.begin(), touches_.end(),
                     [](const Touch& a, const Touch& b) { return a.panel < b.panel; });
  } else {
    regions_.reserve(parts_.size());
    touches_.reserve(parts_.size());
    for (size_t part = 0; part < parts_.size(); ++part) {
      regions_.push_back(layout.regions(parts_[part]));
      if (regions_[part].count() > 0) touches_.push_back({0, part});
    }
  }
  if (layout.has_absent_chunks()) {
    visit_all([&](const Slice& slice) { bytes_ += slice.regions.bytes(); });
  } else {
    for (const auto& part : parts_) bytes_ += part.count() * layout.element_bytes();
  }
}

Access::Access(const Layout& layout, const View& view, const MemoryNest& memory) : Access(layout) {
  element_bytes_ = 1;
  is_view_ = true;
  add(view, memory);
}

void Access::add(const View& view, const MemoryNest& memory) {
  for (Regions& regions : refine(view, memory)) {
    touches_.push_back({0, regions_.size()});
    bytes_ += regions.bytes();
    regions_.push_back(std::move(regions));
  }
}

Access Access::of(const Layout& layout, const Decomposition& decomposition, int rank) {
  if (!decomposition.is_views()) return {layout, decomposition.parts(rank, layout.element_bytes())};
  const View& view = decomposition.view(rank);
  return {layout, view, MemoryNest::packed(view.bytes())};
}

Access Access::together(const Layout& layout, const Decomposition& decomposition) {
  if (!decomposition.is_views()) return {layout, decomposition.together(layout.element_bytes())};
  Access access(layout, View(), MemoryNest());
  access.overlaps_ = !decomposition.are_disjoint();
  for (int rank = 0; rank < decomposition.ranks(); ++rank) {
    const View& view = decomposition.view(rank);
    access.add(view, MemoryNest::packed(view.bytes()));
  }
  return access;
}

std::span<const Access::Touch> Access::touches_in(int64_t begin, int64_t end) const {
  if (is_view_) return touches_;
  const auto [first, last] = layout_->panels_in(begin, end);
  const auto before = [](const Touch& touch, int64_t panel) { return touch.panel < panel; };
  const auto from = std::lower_bound(touches_.begin(), touches_.end(), first, before);
  return {from, std::lower_bound(from, touches_.end(), last, before)};
}

int64_t Access::bytes_in(int64_t begin, int64_t end) const {
  int64_t bytes = 0;
  visit(begin, end, [&](const Slice& slice) { bytes += slice.bytes(); });
  return bytes;
}

bool Access::fills(const Window& window) const {
  if (!overlaps_) return bytes_in(window.begin, window.limit) == window.bytes();
  // Bytes that are there twice are no measure: from one run to the one that goes on furthest.
  for (int64_t at = window.begin; at < window.end;) {
    int64_t end = at;
    for (const Regions& regions : regions_) {
      const int64_t position = regions.elements_before(at + 1) - 1;
      if (position < 0) continue;
      // The run may have begun before; where is that of its byte.
      const int64_t offset = regions.offset_of(position);
      if (offset + regions.element_bytes() <= at) continue;
      end = std::max(end, offset + regions.run_at(position, regions.count()).bytes);
    }
    if (end == at) return false;
    at = end;
  }
  return true;
}

int64_t Access::runs_in(int64_t begin, int64_t end) const {
  int64_t runs = 0;
  visit(begin, end, [&](const Slice& slice) { runs += slice.regions.runs(slice.first, slice.last); });
  return runs;
}

std::optional<int64_t> Access::next_start(int64_t cursor) const {
  std::optional<int64_t> found;
  int64_t panel = 0;
  for (const Touch& touch : touches_in(cursor, INT64_MAX)) {
    // Panels are disjoint and sorted: the first that has an element has the next one.
    if (found && touch.panel != panel) break;
    panel = touch.panel;
    with_regions(touch, [&](const Regions& regions) {
      const int64_t position = regions.elements_before(cursor);
      if (position < regions.count()) found = std::min(found.value_or(INT64_MAX), regions.offset_of(position));
    });
  }
  return found;
}

std::optional<int64_t> Access::last_end(int64_t limit) const {
  std::optional<int64_t> found;
  int64_t panel = 0;
  const auto touches = touches_in(0, limit);
  for (const Touch& touch : std::views::reverse(touches)) {
    if (found && touch.panel != panel) break;
    panel = touch.panel;
    with_regions(touch, [&](const Regions& regions) {
      const int64_t positions = regions.elements_before(limit);
      if (positions == 0) return;
      found = std::max(found.value_or(0), regions.offset_of(positions - 1) + regions.element_bytes());
    });
  }
  return found;
}

std::optional<Window> Access::next_window(int64_t cursor, int64_t end, int64_t window_bytes) const {
  const auto begin = next_start(cursor);
  if (!begin || *begin >= end) return std::nullopt;
  const int64_t limit = std::min(end, (*begin / window_bytes + 1) * window_bytes);
  return Window{*begin, *last_end(limit), limit};
}

}  // namespace swath
