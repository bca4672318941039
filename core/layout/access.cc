#include "layout/access.h"

#include <algorithm>

namespace swath {

Access::Access(const Layout& layout, std::vector<Part> parts) : layout_(&layout), parts_(std::move(parts)) {
  if (!layout.is_chunked()) {
    const Panel panel = layout.panel(0);
    for (const auto& part : parts_) regions_.push_back(layout.regions(panel, part));
    for (const auto& regions : regions_) bytes_ += regions.bytes();
  } else if (!layout.has_absent_chunks()) {
    for (const auto& part : parts_) bytes_ += part.count() * layout.element_bytes();
  } else {
    visit_all([&](const Slice& slice) { bytes_ += slice.regions.bytes(); });
  }
}

// visitor(regions, part) for the panels [first, last) of the file.
template <typename Visitor>
void Access::visit_panels(int64_t first, int64_t last, const Visitor& visitor) const {
  if (!regions_.empty()) {
    for (size_t part = 0; part < regions_.size(); ++part) visitor(regions_[part], part);
    return;
  }
  for (int64_t p = first; p < last; ++p) {
    const Panel panel = layout_->panel(p);
    for (size_t part = 0; part < parts_.size(); ++part) {
      const Regions regions = layout_->regions(panel, parts_[part]);
      if (regions.count() > 0) visitor(regions, part);
    }
  }
}

void Access::visit(int64_t begin, int64_t end, const std::function<void(const Slice&)>& visitor) const {
  const auto [first, last] = layout_->panels_in(begin, end);
  visit_panels(first, last, [&](const Regions& regions, size_t part) {
    const Slice slice{regions, regions.elements_before(begin), regions.elements_before(end), part};
    if (slice.first < slice.last) visitor(slice);
  });
}

int64_t Access::bytes_in(int64_t begin, int64_t end) const {
  int64_t elements = 0;
  visit(begin, end, [&](const Slice& slice) { elements += slice.last - slice.first; });
  return elements * layout_->element_bytes();
}

int64_t Access::runs_in(int64_t begin, int64_t end) const {
  int64_t runs = 0;
  visit(begin, end, [&](const Slice& slice) { runs += slice.regions.runs(slice.first, slice.last); });
  return runs;
}

std::optional<int64_t> Access::next_start(int64_t cursor) const {
  std::optional<int64_t> found;
  const auto consider = [&](const Regions& regions, size_t) {
    const int64_t position = regions.elements_before(cursor);
    if (position == regions.count()) return;
    const int64_t offset = regions.offset_of(position);
    if (!found || offset < *found) found = offset;
  };
  // Panels are disjoint and sorted: the first that has an element has the next one.
  const auto [first, last] = layout_->panels_in(cursor, INT64_MAX);
  for (int64_t p = first; p < last && !found; ++p) visit_panels(p, p + 1, consider);
  return found;
}

std::optional<int64_t> Access::last_end(int64_t limit) const {
  std::optional<int64_t> found;
  const auto consider = [&](const Regions& regions, size_t) {
    const int64_t positions = regions.elements_before(limit);
    if (positions == 0) return;
    found = std::max(found.value_or(0), regions.offset_of(positions - 1) + regions.element_bytes());
  };
  const auto [first, last] = layout_->panels_in(0, limit);
  for (int64_t p = last; p > first && !found; --p) visit_panels(p - 1, p, consider);
  return found;
}

std::optional<Window> Access::next_window(int64_t cursor, int64_t end, int64_t window_bytes) const {
  const auto begin = next_start(cursor);
  if (!begin || *begin >= end) return std::nullopt;
  const int64_t limit = std::min(end, (*begin / window_bytes + 1) * window_bytes);
  return Window{*begin, *last_end(limit), limit};
}

std::optional<int64_t> Access::offset_of_element(int64_t k) const {
  if (regions_.size() != 1) return std::nullopt;
  return regions_[0].offset_of(k);
}

}  // namespace swath
