#include "layout/copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/bulk_data.h"
#include "layout/box_walk.h"
#include "layout/copy_kernels.h"
#include "layout/copy_view.h"

namespace swath {
namespace {

// Shorter runs leave partly filled lines, which streamed stores write back piece by piece.
constexpr int64_t kStreamedRunBytesMin = 512;

// Packed rows on their way past the cache, by whole lines: a line that is streamed in two parts costs twice.
//
// Where a kernel can stream the blocks itself, it does. All else is gathered into a buffer of the first-level cache,
// and streamed from there, which takes a tenth longer: blocks of other sizes and alignments, and the ends of rows, so
// that rows that follow each other in the target fill their common line together.
class StreamedRows {
 public:
  // Packed in the target; blocks of less than kStreamedRunBytesMin.
  StreamedRows(const RowShape& shape, InstructionSet set)
      : shape_(shape),
        set_(set),
        rows_(shape, set),
        line_kernel_(streamed_kernel(shape, set)),
        line_rows_(shape, line_kernel_) {}
  ~StreamedRows() { flush(); }
  StreamedRows(const StreamedRows&) = delete;
  StreamedRows& operator=(const StreamedRows&) = delete;

  void operator()(std::byte* target, const std::byte* source, int64_t count) {
    if (target != next_) {
      flush();
      next_ = target;
      begin_ = end_ = into_line(target);
    }
    const bool direct = line_kernel_ != nullptr && count * shape_.bytes >= kStreamedRunBytesMin &&
                        into_line(target) % shape_.bytes == 0;
    const int64_t capacity = direct ? kLine : kBufferBytes;
    const int64_t line_blocks = direct ? kLine / shape_.bytes : 0;
    while (count > 0) {
      int64_t now = count;
      if (direct && end_ == 0 && count >= line_blocks) {
        now -= count % line_blocks;
        line_rows_(next_, source, now);
      } else {
        if (count * shape_.bytes > capacity - end_) now = (capacity - end_) / shape_.bytes;
        rows_(buffer_.data() + end_, source, now);
        end_ += now * shape_.bytes;
      }
      next_ += now * shape_.bytes;
      source += now * shape_.source_stride;
      count -= now;
      if (capacity - end_ < shape_.bytes) stream_whole_lines();
    }
  }

 private:
  static constexpr int64_t kBufferBytes = 1024;

  void stream_whole_lines() {
    const int64_t whole = end_ & -kLine;
    stream(next_ - (end_ - begin_), buffer_.data() + begin_, whole - begin_, set_);
    std::memcpy(buffer_.data(), buffer_.data() + whole, static_cast<size_t>(end_ - whole));
    begin_ = 0;
    end_ -= whole;
  }

  void flush() {
    if (end_ > begin_) stream(next_ - (end_ - begin_), buffer_.data() + begin_, end_ - begin_, set_);
  }

  RowShape shape_;
  InstructionSet set_;
  RowCopy rows_;
  RowKernel line_kernel_;
  RowCopy line_rows_;          // where there is such a kernel
  std::byte* next_ = nullptr;  // where in the target the bytes after end_ belong
  int64_t begin_ = 0;          // [begin_, end_) of the buffer are filled; as far into a line as their target
  int64_t end_ = 0;
  alignas(kLine) std::array<std::byte, kBufferBytes> buffer_;
};

// Calls row(target, source) at every combination of the levels.
template <typename Row>
void for_each_row(std::byte* target, const std::byte* source, const CopyLevel* levels, size_t depth, Row&& row) {
  if (depth == 0) return row(target, source);
  for (int64_t i = 0; i < levels[0].count; ++i) {
    for_each_row(target + i * levels[0].target_stride, source + i * levels[0].source_stride, levels + 1, depth - 1,
                 row);
  }
}

// Two levels of which the source runs along one (the columns) and the target along the other (the rows): a transpose,
// by tiles that fit in the first-level cache on both sides.
//
// Streamed, a tile is turned into a buffer, from where its target rows leave by whole lines; what does not fill a line
// waits there for the next tile of the same target rows. That brings a large transpose up to a memcpy of the same
// bytes; half-filled lines cost it half of that, and NumPy's large arrays start 16 bytes into a line. The tiles follow
// the source, whose rows the processor then fetches ahead: three times as fast as following the target.
class Transpose {
 public:
  Transpose(int64_t bytes, const CopyLevel& columns, const CopyLevel& rows, Target use, InstructionSet set)
      : bytes_(bytes),
        columns_(columns),
        rows_(rows),
        set_(set),
        tile_column_({bytes, rows.source_stride, rows.target_stride}, set),
        tile_row_({bytes, columns.source_stride, columns.target_stride}, set) {
    const bool packed = columns.source_stride == bytes && rows.target_stride == bytes;
    streamed_ = use == Target::kStreamed && packed && rows.count * bytes >= kStreamedRowBytesMin;
    if (packed) kernel_ = transpose_kernel(bytes, rows.count, columns.count, streamed_, set);
    streamed_ = streamed_ && kernel_ != nullptr;
    tile_columns_ = bytes <= 4 ? kTileMax : kTileMax / 2;
    tile_rows_ = bytes <= 2 ? kTileMax : kTileMax / 2;
    if (!streamed_) {  // a few long rows or columns: longer tiles
      const int64_t blocks = tile_rows_ * tile_columns_;
      tile_rows_ = blocks / std::min(tile_columns_, columns.count);
      tile_columns_ = blocks / std::min(tile_columns_, rows.count);
    }
    if (streamed_) rests_.resize(static_cast<size_t>(std::min(kStripColumns, columns.count)));
  }

  void operator()(std::byte* target, const std::byte* source) {
    for (int64_t strip = 0; strip < columns_.count; strip += kStripColumns) {
      const int64_t strip_end = std::min(strip + kStripColumns, columns_.count);
      for (int64_t row = 0; row < rows_.count; row += tile_rows_) {
        for (int64_t column = strip; column < strip_end; column += tile_columns_) {
          const Tile tile{row, std::min(tile_rows_, rows_.count - row), column - strip,
                          std::min(tile_columns_, strip_end - column)};
          std::byte* to = target + row * rows_.target_stride + column * columns_.target_stride;
          const std::byte* from = source + row * rows_.source_stride + column * columns_.source_stride;
          streamed_ ? stream_tile(tile, to, from) : copy_tile(tile, to, from);
        }
      }
    }
  }

 private:
  static constexpr int64_t kTileRowBytesMax = 256;
  static constexpr int64_t kTileMax = 64;
  static constexpr int64_t kStripColumns = 2048;  // bounds the memory of the rests
  static constexpr int64_t kStreamedRowBytesMin = 256;

  struct Tile {
    int64_t row, rows, column_in_strip, columns;
  };

  void copy_tile(const Tile& tile, std::byte* target, const std::byte* source) {
    if (kernel_ != nullptr) {
      kernel_(target, columns_.target_stride, source, rows_.source_stride, tile.rows, tile.columns);
    } else if (tile.rows >= tile.columns) {
      for (int64_t c = 0; c < tile.columns; ++c) {
        tile_column_(target + c * columns_.target_stride, source + c * columns_.source_stride, tile.rows);
      }
    } else {
      for (int64_t r = 0; r < tile.rows; ++r) {
        tile_row_(target + r * rows_.target_stride, source + r * rows_.source_stride, tile.columns);
      }
    }
  }

  // Each row of the buffer is as far into a line as its target, because the strides of both differ by whole lines; and
  // remains so in the next tile, because a tile's rows are whole lines long.
  void stream_tile(const Tile& tile, std::byte* target, const std::byte* source) {
    const int64_t stride = tile_rows_ * bytes_ + kLine + (columns_.target_stride & (kLine - 1));
    const int64_t bytes = tile.rows * bytes_;
    const bool first = tile.row == 0;
    const bool last = tile.row + tile.rows == rows_.count;
    std::byte* buffer = buffer_.data() + into_line(target);
    for (int64_t c = 0; c < tile.columns && !first; ++c) {
      std::byte* row = buffer + c * stride;
      std::memcpy(row - into_line(row), rest(tile, c), kLine);
    }
    kernel_(buffer, stride, source, rows_.source_stride, tile.rows, tile.columns);
    for (int64_t c = 0; c < tile.columns; ++c) {
      std::byte* row = buffer + c * stride;
      const int64_t waiting = first ? 0 : into_line(row);
      const int64_t left = last ? 0 : into_line(row + bytes);
      stream(target + c * columns_.target_stride - waiting, row - waiting, waiting + bytes - left, set_);
      if (!last) std::memcpy(rest(tile, c), row + bytes - left, kLine);
    }
  }

  std::byte* rest(const Tile& tile, int64_t column) {
    return rests_[static_cast<size_t>(tile.column_in_strip + column)].data();
  }

  int64_t bytes_;
  CopyLevel columns_;
  CopyLevel rows_;
  InstructionSet set_;
  bool streamed_;
  int64_t tile_rows_;
  int64_t tile_columns_;
  RowCopy tile_column_;
  RowCopy tile_row_;
  TransposeKernel kernel_ = nullptr;
  std::vector<std::array<std::byte, kLine>> rests_;
  alignas(kLine) std::array<std::byte, kTileMax*(kTileRowBytesMax + 2 * kLine) + 2 * kLine> buffer_;
};

size_t fastest_of(const std::vector<CopyLevel>& levels, int64_t CopyLevel::* stride) {
  const auto faster = [&](const CopyLevel& a, const CopyLevel& b) { return std::abs(a.*stride) < std::abs(b.*stride); };
  return static_cast<size_t>(std::min_element(levels.begin(), levels.end(), faster) - levels.begin());
}

void remove(std::vector<CopyLevel>& levels, size_t which) {
  levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(which));
}

// How far the target continues where rows of `row_bytes` follow each other.
int64_t run_bytes(int64_t row_bytes, const std::vector<CopyLevel>& levels) {
  for (auto level = levels.rbegin(); level != levels.rend() && level->target_stride == row_bytes; ++level) {
    row_bytes *= level->count;
  }
  return row_bytes;
}

// Drops levels of one, merges a level into the block or into its neighbour where both sides continue.
void simplify(int64_t& bytes, std::vector<CopyLevel>& levels) {
  std::vector<CopyLevel> kept;  // fastest first while merging
  for (size_t d = levels.size(); d-- > 0;) {
    const CopyLevel& level = levels[d];
    if (level.count == 1) continue;
    if (kept.empty() && level.source_stride == bytes && level.target_stride == bytes) {
      bytes *= level.count;
    } else if (!kept.empty() && level.source_stride == kept.back().count * kept.back().source_stride &&
               level.target_stride == kept.back().count * kept.back().target_stride) {
      kept.back().count *= level.count;
    } else {
      kept.push_back(level);
    }
  }
  levels.assign(kept.rbegin(), kept.rend());
}

// What a copy needs to know of one piece of one dimension.
struct PiecePosition {
  int64_t file_offset;
  int64_t memory_offset;
  CopyLevel outer;  // source: file, target: memory
  CopyLevel inner;
};

// Calls copy(file_offset, memory_offset, levels) for all positions of the box; offsets relative to index 0 / position
// 0. `memory_follows_file` copies between two windows: both sides have the file's strides.
template <typename Copy>
void for_each_strided_box(const std::vector<RegionDimension>& dimensions, const std::vector<int64_t>& low,
                          const std::vector<int64_t>& high, bool memory_follows_file, const Copy& copy) {
  std::vector<std::vector<PiecePosition>> choices(dimensions.size());
  std::vector<StridedPiece> pieces;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const auto& dimension = dimensions[d];
    pieces.clear();
    dimension.indices.pieces(low[d], high[d], pieces);
    for (const auto& piece : pieces) {
      const int64_t outer_file = piece.outer_step * dimension.file_stride;
      const int64_t inner_file = piece.inner_step * dimension.file_stride;
      const int64_t file_offset = piece.index * dimension.file_stride;
      if (memory_follows_file) {
        choices[d].push_back(
            {file_offset, file_offset, {piece.outer, outer_file, outer_file}, {piece.inner, inner_file, inner_file}});
      } else {
        choices[d].push_back({file_offset,
                              piece.position * dimension.memory_stride,
                              {piece.outer, outer_file, piece.inner * dimension.memory_stride},
                              {piece.inner, inner_file, dimension.memory_stride}});
      }
    }
    if (choices[d].empty()) return;
  }
  // Every combination of one piece a dimension: an odometer.
  std::vector<size_t> chosen(dimensions.size(), 0);
  std::vector<CopyLevel> levels;
  while (true) {
    int64_t file_offset = 0;
    int64_t memory_offset = 0;
    levels.clear();
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const auto& piece = choices[d][chosen[d]];
      file_offset += piece.file_offset;
      memory_offset += piece.memory_offset;
      levels.push_back(piece.outer);
      levels.push_back(piece.inner);
    }
    copy(file_offset, memory_offset, levels);
    size_t d = dimensions.size();
    while (d > 0 && ++chosen[d - 1] == choices[d - 1].size()) chosen[--d] = 0;
    if (d == 0) return;
  }
}

template <typename Copy>
void walk(const ProductRegions& regions, int64_t first, int64_t last, bool memory_follows_file, const Copy& copy) {
  if (first >= last) return;
  const auto& dimensions = regions.dimensions();
  std::vector<int64_t> counts;
  for (const auto& dimension : dimensions) counts.push_back(dimension.indices.count());
  for_each_box(counts, first, last, [&](const std::vector<int64_t>& low, const std::vector<int64_t>& high) {
    for_each_strided_box(dimensions, low, high, memory_follows_file, copy);
  });
}

// Outermost: what is contiguous within a lane may still become one block.
void add_lanes(std::vector<CopyLevel>& levels, const Lanes& lanes) {
  if (lanes.count > 1) levels.insert(levels.begin(), {lanes.count, lanes.file_stride, lanes.memory_stride});
}

std::vector<CopyLevel> reversed_direction(std::vector<CopyLevel> levels) {
  for (auto& level : levels) std::swap(level.source_stride, level.target_stride);
  return levels;
}

}  // namespace

Target target_of(int64_t local_bytes) {
  constexpr int64_t kCacheBytes = int64_t{4} << 20;
  return local_bytes > kCacheBytes ? Target::kStreamed : Target::kCached;
}

void copy_levels(std::byte* target, const std::byte* source, int64_t bytes, std::vector<CopyLevel> levels, Target use) {
  copy_levels_with(instruction_set_in_use(), target, source, bytes, std::move(levels), use);
}

void copy_levels_with(InstructionSet set, std::byte* target, const std::byte* source, int64_t bytes,
                      std::vector<CopyLevel> levels, Target use) {
  if (bytes == 0 || std::any_of(levels.begin(), levels.end(), [](const auto& level) { return level.count == 0; }))
    return;
  simplify(bytes, levels);
  if (levels.empty()) levels.push_back({1, bytes, bytes});
  // Writing along the target is what the cache likes; where source and target disagree on the fastest level, tile.
  const size_t by_source = fastest_of(levels, &CopyLevel::source_stride);
  const size_t by_target = fastest_of(levels, &CopyLevel::target_stride);
  if (by_source != by_target) {
    Transpose transpose(bytes, levels[by_source], levels[by_target], use, set);
    remove(levels, std::max(by_source, by_target));
    remove(levels, std::min(by_source, by_target));
    for_each_row(target, source, levels.data(), levels.size(), transpose);
    return;
  }
  const CopyLevel fastest = levels[by_target];
  remove(levels, by_target);
  const bool packed = fastest.target_stride == bytes;
  const int64_t row_bytes = packed ? fastest.count * bytes : bytes;
  const bool streamed = use == Target::kStreamed && run_bytes(row_bytes, levels) >= kStreamedRunBytesMin;
  if (streamed && bytes >= kStreamedRunBytesMin) {
    levels.push_back(fastest);
    for_each_row(target, source, levels.data(), levels.size(),
                 [&](std::byte* block, const std::byte* from) { stream(block, from, bytes, set); });
    return;
  }
  const RowShape shape{bytes, fastest.source_stride, fastest.target_stride};
  if (streamed) {
    StreamedRows rows(shape, set);
    for_each_row(target, source, levels.data(), levels.size(),
                 [&](std::byte* row, const std::byte* from) { rows(row, from, fastest.count); });
  } else {
    RowCopy rows(shape, set);
    for_each_row(target, source, levels.data(), levels.size(),
                 [&](std::byte* row, const std::byte* from) { rows(row, from, fastest.count); });
  }
}

namespace {
// The offset of index 0 of every dimension, of which offset_of(0) is the first element.
int64_t file_base(const ProductRegions& regions) {
  int64_t offset = regions.offset_of(0);
  for (const auto& dimension : regions.dimensions()) offset -= dimension.indices.front() * dimension.file_stride;
  return offset;
}

// True if the caller is to copy these elements (base/bulk_data.h).
bool begin_copy_of(const Regions& regions, int64_t first, int64_t last, int64_t lanes) {
  BulkDataModel* const model = bulk_data_model();
  if (first >= last || model == nullptr) return first < last;
  return model->begin_copy(
      {.bytes = (last - first) * regions.element_bytes() * lanes, .runs = regions.runs(first, last)});
}
}  // namespace

void gather_from_window(const Regions& regions, int64_t first, int64_t last, FileWindow<const std::byte> window,
                        std::byte* memory, const GatherOptions& options) {
  if (!begin_copy_of(regions, first, last, options.lanes.count)) return;
  if (regions.view() != nullptr) return gather_view(*regions.view(), first, last, window, memory, options.lanes);
  const ProductRegions& product = *regions.product();
  const int64_t source_base = file_base(product) - window.offset;
  const int64_t target_base = product.memory_of(0);
  walk(product, first, last, false, [&](int64_t file_offset, int64_t memory_offset, auto& levels) {
    add_lanes(levels, options.lanes);
    copy_levels(memory + (target_base + memory_offset), window.bytes + (source_base + file_offset),
                product.element_bytes(), levels, options.use);
  });
  if (options.use == Target::kStreamed) finish_streaming();
}

void scatter_to_window(const Regions& regions, int64_t first, int64_t last, FileWindow<std::byte> window,
                       const std::byte* memory, const Lanes& lanes) {
  if (!begin_copy_of(regions, first, last, lanes.count)) return;
  if (regions.view() != nullptr) return scatter_view(*regions.view(), first, last, window, memory, lanes);
  const ProductRegions& product = *regions.product();
  const int64_t target_base = file_base(product) - window.offset;
  const int64_t source_base = product.memory_of(0);
  walk(product, first, last, false, [&](int64_t file_offset, int64_t memory_offset, auto& levels) {
    add_lanes(levels, lanes);
    copy_levels(window.bytes + (target_base + file_offset), memory + (source_base + memory_offset),
                product.element_bytes(), reversed_direction(levels));
  });
}

void copy_between_windows(const Regions& regions, int64_t first, int64_t last, std::byte* target,
                          const std::byte* source, int64_t window_offset) {
  if (!begin_copy_of(regions, first, last, 1)) return;
  if (regions.view() != nullptr) {
    return copy_view_between_windows(*regions.view(), first, last, target, source, window_offset);
  }
  const ProductRegions& product = *regions.product();
  const int64_t base = file_base(product) - window_offset;
  walk(product, first, last, true, [&](int64_t file_offset, int64_t, const auto& levels) {
    copy_levels(target + (base + file_offset), source + (base + file_offset), product.element_bytes(), levels);
  });
}

}  // namespace swath
