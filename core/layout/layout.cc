#include "layout/layout.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/math.h"

namespace swath {
namespace {

enum class Kind { kStrided, kChunked, kTiled };

[[noreturn]] void fail_format(const std::string& message) { throw Error(ErrorKind::kFormat, message); }

void check_extents(const Shape& shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) {
      fail_format("layout: dimension " + std::to_string(d) + " has an extent of " + std::to_string(shape[d]));
    }
  }
}

}  // namespace

std::vector<int> c_order(size_t dimensions) {
  std::vector<int> order(dimensions);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int64_t> strides_in_order(const Shape& shape, int64_t element_bytes, const std::vector<int>& order) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = element_bytes;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[d], 1), &stride)) {
      fail_format("layout: dimension " + std::to_string(d) + " ends beyond 2^63 bytes");
    }
  }
  return strides;
}

Regions regions_in(const Panel& panel, const Part& part, int64_t element_bytes) {
  if (!part.holds) return {};
  int64_t memory_origin = part.memory_origin;
  std::vector<RegionDimension> dimensions;
  dimensions.reserve(panel.begin.size());
  for (size_t d = 0; d < panel.begin.size(); ++d) {
    int64_t skipped = 0;
    const IndexSet inside = part.indices[d].clip(panel.begin[d], panel.end[d], &skipped);
    memory_origin += skipped * part.memory_strides[d];
    // Counted from the panel's begin: an index of the array, times the stride of a chunk, can be beyond 64 bits.
    dimensions.push_back({inside.shifted(-panel.begin[d]), panel.strides[d], part.memory_strides[d]});
  }
  return Regions(panel.offset, memory_origin, element_bytes, std::move(dimensions));
}

std::vector<ChunkRun> chunk_runs(const IndexSet& indices, int64_t extent, int64_t chunk_extent) {
  if (indices.empty()) return {};
  if (indices.widest_step() <= chunk_extent)
    return {{indices.front() / chunk_extent, indices.back() / chunk_extent + 1}};
  std::vector<ChunkRun> runs;
  for (int64_t position = 0; position < indices.count();) {
    const int64_t chunk = indices.at(position) / chunk_extent;
    if (!runs.empty() && runs.back().end == chunk) {
      ++runs.back().end;
    } else {
      runs.push_back({chunk, chunk + 1});
    }
    position = indices.count_below(block_end(chunk * chunk_extent, chunk_extent, extent));
  }
  return runs;
}

std::vector<int64_t> chunks_of(const Shape& shape, const Shape& chunk_shape, const Part& part) {
  if (part.count() == 0) return {};
  // The chunks that each dimension touches; a chunk is touched when it is so in every dimension.
  std::vector<int64_t> chunks{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::vector<ChunkRun> runs = chunk_runs(part.indices[d], shape[d], chunk_shape[d]);
    std::vector<int64_t> longer;
    for (const int64_t outer : chunks) {
      for (const ChunkRun& run : runs) {
        for (int64_t chunk = run.begin; chunk < run.end; ++chunk) {
          longer.push_back(outer * ceil_div(shape[d], chunk_shape[d]) + chunk);
        }
      }
    }
    chunks = std::move(longer);
  }
  return chunks;
}

Panel chunk_at(const Shape& shape, const Shape& chunk_shape, int64_t position) {
  Panel panel{Shape(shape.size()), Shape(shape.size()), 0, {}};
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t chunks = ceil_div(shape[d], chunk_shape[d]);
    panel.begin[d] = (position % chunks) * chunk_shape[d];
    panel.end[d] = block_end(panel.begin[d], chunk_shape[d], shape[d]);
    position /= chunks;
  }
  return panel;
}

Layout Layout::strided(Shape shape, int64_t element_bytes, int64_t offset, std::vector<int64_t> strides) {
  if (element_bytes < 1) fail_argument("layout: an element of " + std::to_string(element_bytes) + " bytes");
  if (strides.size() != shape.size()) fail_argument("layout: one stride a dimension is needed");
  if (offset < 0) fail_format("layout: the data would start at offset " + std::to_string(offset));
  check_extents(shape);
  std::vector<size_t> slowest_first(shape.size());
  std::iota(slowest_first.begin(), slowest_first.end(), size_t{0});
  std::stable_sort(slowest_first.begin(), slowest_first.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  const bool empty = std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent == 0; });
  int64_t span = element_bytes;  // of the faster dimensions together
  for (size_t i = slowest_first.size(); i-- > 0 && !empty;) {
    const size_t d = slowest_first[i];
    if (shape[d] == 1) continue;
    if (strides[d] < span) {
      fail_format("layout: dimension " + std::to_string(d) + " has a stride of " + std::to_string(strides[d]) +
                  " bytes, but the faster dimensions fill " + std::to_string(span) + ": elements would overlap");
    }
    int64_t extent = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &extent) || __builtin_add_overflow(span, extent, &span)) {
      fail_format("layout: dimension " + std::to_string(d) + " ends beyond 2^63 bytes");
    }
  }
  if (span > INT64_MAX - offset) {
    fail_format("layout: data at offset " + std::to_string(offset) + " ends beyond 2^63 bytes");
  }
  Layout layout;
  layout.shape_ = std::move(shape);
  layout.element_bytes_ = element_bytes;
  layout.offset_ = offset;
  layout.strides_ = std::move(strides);
  return layout;
}

Layout Layout::ordered(const Shape& shape, int64_t element_bytes, int64_t offset, const std::vector<int>& order) {
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != c_order(shape.size())) {
    fail_argument("layout: the order must name each of the " + std::to_string(shape.size()) +
                  " dimensions once, slowest first");
  }
  return strided(shape, element_bytes, offset, strides_in_order(shape, element_bytes, order));
}

namespace {

// How many chunks there are; throws Error{kFormat} where there cannot be such.
int64_t checked_chunk_count(const Shape& shape, int64_t element_bytes, const Shape& chunk_shape) {
  if (element_bytes < 1) fail_argument("layout: an element of " + std::to_string(element_bytes) + " bytes");
  if (chunk_shape.size() != shape.size()) fail_format("layout: one chunk extent a dimension is needed");
  check_extents(shape);
  int64_t chunks = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (chunk_shape[d] < 1) fail_format("layout: a chunk extent of " + std::to_string(chunk_shape[d]));
    if (__builtin_mul_overflow(chunks, ceil_div(shape[d], chunk_shape[d]), &chunks)) {
      fail_format("layout: more than 2^63 chunks");
    }
  }
  return chunks;
}

}  // namespace

Layout Layout::tiled(Shape shape, int64_t element_bytes, Shape chunk_shape, int64_t offset) {
  Layout layout;
  layout.chunk_count_ = checked_chunk_count(shape, element_bytes, chunk_shape);
  layout.shape_ = std::move(shape);
  layout.element_bytes_ = element_bytes;
  layout.is_chunked_ = true;
  layout.is_tiled_ = true;
  layout.chunk_shape_ = std::move(chunk_shape);
  layout.strides_ = strides_in_order(layout.chunk_shape_, element_bytes, c_order(layout.chunk_shape_.size()));
  layout.offset_ = offset;
  int64_t end = 0;
  if (offset < 0 || __builtin_mul_overflow(layout.chunk_count_, layout.chunk_bytes(), &end) ||
      __builtin_add_overflow(end, offset, &end)) {
    fail_format("layout: " + std::to_string(layout.chunk_count_) + " tiles of " + std::to_string(layout.chunk_bytes()) +
                " bytes from offset " + std::to_string(offset) + " on end beyond 2^63 bytes");
  }
  return layout;
}

Layout Layout::chunked(Shape shape, int64_t element_bytes, Shape chunk_shape, std::vector<int64_t> offsets) {
  const int64_t chunks = checked_chunk_count(shape, element_bytes, chunk_shape);
  if (static_cast<int64_t>(offsets.size()) != chunks) {
    fail_format("layout: " + std::to_string(offsets.size()) + " chunk offsets for " + std::to_string(chunks) +
                " chunks");
  }
  Layout layout;
  layout.shape_ = std::move(shape);
  layout.element_bytes_ = element_bytes;
  layout.is_chunked_ = true;
  layout.chunk_count_ = chunks;
  layout.chunk_shape_ = std::move(chunk_shape);
  layout.strides_ = strides_in_order(layout.chunk_shape_, element_bytes, c_order(layout.chunk_shape_.size()));
  layout.offsets_ = std::move(offsets);
  for (int64_t i = 0; i < chunks; ++i) {
    if (layout.offsets_[static_cast<size_t>(i)] >= 0) layout.by_offset_.push_back(i);
  }
  const auto& at = layout.offsets_;
  const int64_t size = layout.chunk_bytes();
  std::sort(layout.by_offset_.begin(), layout.by_offset_.end(), [&](int64_t a, int64_t b) { return at[a] < at[b]; });
  layout.place_of_.assign(layout.offsets_.size(), -1);
  for (size_t i = 0; i < layout.by_offset_.size(); ++i) {
    layout.place_of_[static_cast<size_t>(layout.by_offset_[i])] = static_cast<int64_t>(i);
  }
  if (!layout.by_offset_.empty() && at[layout.by_offset_.back()] > INT64_MAX - size) {
    fail_format("layout: a chunk at offset " + std::to_string(at[layout.by_offset_.back()]) +
                " ends beyond 2^63 bytes");
  }
  for (size_t i = 1; i < layout.by_offset_.size(); ++i) {
    const int64_t previous = at[layout.by_offset_[i - 1]];
    if (previous + size > at[layout.by_offset_[i]]) {
      fail_format("layout: two chunks overlap in the file, at offsets " + std::to_string(previous) + " and " +
                  std::to_string(at[layout.by_offset_[i]]) + ", each of " + std::to_string(size) + " bytes");
    }
  }
  return layout;
}

int64_t Layout::chunk_bytes() const { return is_chunked() ? element_count(chunk_shape_) * element_bytes_ : 0; }

int64_t Layout::offset_of_chunk(int64_t linear) const {
  return is_tiled_ ? offset_ + linear * chunk_bytes() : offsets_[static_cast<size_t>(linear)];
}

int64_t Layout::chunk_of_panel(int64_t index) const {
  return is_tiled_ ? index : by_offset_[static_cast<size_t>(index)];
}

int64_t Layout::panel_of_chunk(int64_t linear) const {
  return is_tiled_ ? linear : place_of_[static_cast<size_t>(linear)];
}

Panel Layout::chunk(int64_t linear) const {
  Panel panel = chunk_at(shape_, chunk_shape_, linear);
  panel.offset = offset_of_chunk(linear);
  panel.strides = strides_;
  return panel;
}

Panel Layout::panel(int64_t index) const {
  if (is_chunked()) return chunk(chunk_of_panel(index));
  return {Shape(shape_.size(), 0), shape_, offset_, strides_};
}

std::pair<int64_t, int64_t> Layout::panels_in(int64_t begin, int64_t end) const {
  if (!is_chunked()) return {0, 1};
  const int64_t size = chunk_bytes();
  if (is_tiled_) {
    const int64_t first = begin <= offset_ ? 0 : std::min((begin - offset_) / size, chunk_count_);
    const int64_t last = end <= offset_ ? 0 : std::min((end - offset_ - 1) / size + 1, chunk_count_);
    return {first, std::max(first, last)};
  }
  const auto first = std::partition_point(by_offset_.begin(), by_offset_.end(),
                                          [&](int64_t chunk) { return offsets_[chunk] + size <= begin; });
  const auto last = std::partition_point(first, by_offset_.end(), [&](int64_t chunk) { return offsets_[chunk] < end; });
  return {first - by_offset_.begin(), last - by_offset_.begin()};
}

std::vector<int64_t> Layout::panels_of(const Part& part) const {
  if (part.count() == 0) return {};
  if (!is_chunked()) return {0};
  std::vector<int64_t> panels;
  for (const int64_t id : chunks_of(shape_, chunk_shape_, part)) {
    if (panel_of_chunk(id) >= 0) panels.push_back(panel_of_chunk(id));
  }
  std::sort(panels.begin(), panels.end());
  return panels;
}

Regions Layout::regions(const Part& part) const {
  if (!part.holds) return {};
  std::vector<RegionDimension> dimensions;
  dimensions.reserve(shape_.size());
  for (size_t d = 0; d < shape_.size(); ++d) {
    dimensions.push_back({part.indices[d], strides_[d], part.memory_strides[d]});
  }
  return Regions(offset_, part.memory_origin, element_bytes_, std::move(dimensions));
}

Regions Layout::regions(const Panel& panel, const Part& part) const {
  return is_chunked() ? regions_in(panel, part, element_bytes_) : regions(part);
}

std::vector<Panel> Layout::absent_panels() const {
  std::vector<Panel> panels;
  for (size_t i = 0; i < offsets_.size(); ++i) {
    if (offsets_[i] < 0) panels.push_back(chunk(static_cast<int64_t>(i)));
  }
  return panels;
}

std::string Layout::to_string() const {
  if (is_chunked()) {
    std::string text =
        "chunks of " + swath::to_string(chunk_shape_) + ", " + std::to_string(panel_count()) + " in the file";
    if (has_absent_chunks()) text += ", " + std::to_string(chunk_count_ - panel_count()) + " not allocated";
    return text;
  }
  const std::string at = " at offset " + std::to_string(offset_);
  const std::vector<int> c = c_order(shape_.size());
  if (strides_ == strides_in_order(shape_, element_bytes_, c)) return "C order" + at;
  const std::vector<int> f(c.rbegin(), c.rend());
  if (strides_ == strides_in_order(shape_, element_bytes_, f)) return "F order" + at;
  std::vector<int> order = c;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return strides_[a] > strides_[b]; });
  if (order == c && !shape_.empty()) return "records of " + std::to_string(strides_[0]) + " bytes" + at;
  std::string text = "order (";
  for (const int d : order) text += (text.back() == '(' ? "" : ", ") + std::to_string(d);
  return text + ")" + at;
}

void Layout::write(ByteWriter& writer) const {
  writer.put(static_cast<int64_t>(is_tiled_ ? Kind::kTiled : is_chunked_ ? Kind::kChunked : Kind::kStrided));
  if (!is_chunked_) {
    writer.put(offset_);
    writer.put(strides_);
    return;
  }
  writer.put(chunk_shape_);
  if (is_tiled_) {
    writer.put(offset_);
  } else {
    writer.put(offsets_);
  }
}

Layout Layout::read(ByteReader& reader, Shape shape, int64_t element_bytes) {
  const auto kind = static_cast<Kind>(reader.number_in(0, 3, "the kind of a layout"));
  if (kind == Kind::kStrided) {
    const int64_t offset = reader.number();
    return strided(std::move(shape), element_bytes, offset, reader.numbers());
  }
  Shape chunk_shape = reader.numbers();
  if (kind == Kind::kTiled) {
    const int64_t offset = reader.number();
    return tiled(std::move(shape), element_bytes, std::move(chunk_shape), offset);
  }
  return chunked(std::move(shape), element_bytes, std::move(chunk_shape), reader.numbers());
}

}  // namespace swath
