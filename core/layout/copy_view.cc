#include "layout/copy_view.h"

#include <algorithm>
#include <cstring>

#include "space/nest_cursor.h"

namespace swath {
namespace {

using Row = NestCursor::Row;

// Of fewer blocks a loop is faster than to look for the best kernel.
constexpr int64_t kKernelBlocksMin = 16;

template <int kBytes>
void copy_blocks_of(std::byte* target, const std::byte* source, const CopyLevel& level) {
  for (int64_t i = 0; i < level.count; ++i) {
    std::memcpy(target + i * level.target_stride, source + i * level.source_stride, kBytes);
  }
}

void copy_blocks(std::byte* target, const std::byte* source, int64_t bytes, const CopyLevel& level) {
  if (level.count >= kKernelBlocksMin) return copy_levels(target, source, bytes, {level});
  switch (bytes) {
    case 1:
      return copy_blocks_of<1>(target, source, level);
    case 2:
      return copy_blocks_of<2>(target, source, level);
    case 4:
      return copy_blocks_of<4>(target, source, level);
    case 8:
      return copy_blocks_of<8>(target, source, level);
    case 16:
      return copy_blocks_of<16>(target, source, level);
    default:
      for (int64_t i = 0; i < level.count; ++i) {
        std::memcpy(target + i * level.target_stride, source + i * level.source_stride, static_cast<size_t>(bytes));
      }
  }
}

// Calls piece(offset, other_offset, bytes, level) for what two walks have in common, until so many bytes are through.
// `level`: how often, and how far apart on both sides (source: the first walk's).
//
// Rows of equal blocks go together; a row of one side beside a longer block of the other goes along it. Else the
// shorter of the two blocks is a piece by itself.
template <typename Piece>
void for_each_common_row(NestCursor& one, NestCursor& other, int64_t bytes, const Piece& piece) {
  while (bytes > 0) {
    const Row a = one.row();
    const Row b = other.row();
    int64_t block = std::min({a.block, b.block, bytes});
    CopyLevel level{1, 0, 0};
    const int64_t blocks_left = bytes / block;
    if (a.block == b.block) {
      level = {std::min({a.count, b.count, blocks_left}), a.stride, b.stride};
    } else if (block == a.block) {
      level = {std::min({a.count, b.block / block, blocks_left}), a.stride, block};
    } else if (block == b.block) {
      level = {std::min({b.count, a.block / block, blocks_left}), block, b.stride};
    }
    if (level.count <= 1) level = {1, 0, 0};
    piece(a.offset, b.offset, block, level);
    const int64_t moved = block * level.count;
    one.advance(moved);
    other.advance(moved);
    bytes -= moved;
  }
}

// Calls piece(file_offset, memory_offset, bytes, level); source: file.
template <typename Piece>
void for_each_piece(const ViewRegions& regions, int64_t first, int64_t last, const Piece& piece) {
  NestCursor file(regions.file().nest, regions.file().first + first);
  NestCursor memory(regions.memory(), regions.memory_first() + first);
  for_each_common_row(file, memory, last - first, piece);
}

CopyLevel reversed(const CopyLevel& level) { return {level.count, level.target_stride, level.source_stride}; }

}  // namespace

void gather_view(const ViewRegions& regions, int64_t first, int64_t last, FileWindow<const std::byte> window,
                 std::byte* memory, const Lanes& lanes) {
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    const std::byte* source = window.bytes + (lane * lanes.file_stride - window.offset);
    std::byte* target = memory + lane * lanes.memory_stride;
    for_each_piece(regions, first, last, [&](int64_t from, int64_t to, int64_t bytes, const CopyLevel& level) {
      copy_blocks(target + to, source + from, bytes, level);
    });
  }
}

void scatter_view(const ViewRegions& regions, int64_t first, int64_t last, FileWindow<std::byte> window,
                  const std::byte* memory, const Lanes& lanes) {
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    std::byte* target = window.bytes + (lane * lanes.file_stride - window.offset);
    const std::byte* source = memory + lane * lanes.memory_stride;
    for_each_piece(regions, first, last, [&](int64_t to, int64_t from, int64_t bytes, const CopyLevel& level) {
      copy_blocks(target + to, source + from, bytes, reversed(level));
    });
  }
}

void copy_view_between_windows(const ViewRegions& regions, int64_t first, int64_t last, std::byte* target,
                               const std::byte* source, int64_t window_offset) {
  NestCursor file(regions.file().nest, regions.file().first + first);
  for (int64_t left = last - first; left > 0;) {
    const Row row = file.row();
    const int64_t block = std::min(row.block, left);
    const int64_t count = std::max<int64_t>(std::min(row.count, left / block), 1);
    copy_blocks(target + (row.offset - window_offset), source + (row.offset - window_offset), block,
                {count, row.stride, row.stride});
    file.advance(block * count);
    left -= block * count;
  }
}

}  // namespace swath
