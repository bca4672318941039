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

using List = NestCursor::List;

// Of fewer listed blocks a row of each is as fast.
constexpr int64_t kListedBlocksMin = 4;

// Copies listed blocks of kBytes, or of `bytes` where that is 0. A loop without calls: the memory is asked for many
// blocks at a time.
template <int kBytes, typename TargetOf, typename SourceOf>
void copy_equal_blocks(int64_t count, int64_t bytes, const TargetOf& target_of, const SourceOf& source_of) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target_of(i), source_of(i), static_cast<size_t>(kBytes > 0 ? kBytes : bytes));
  }
}

template <typename TargetOf, typename SourceOf>
void copy_listed(int64_t count, int64_t bytes, const TargetOf& target_of, const SourceOf& source_of) {
  switch (bytes) {
    case 1:
      return copy_equal_blocks<1>(count, bytes, target_of, source_of);
    case 2:
      return copy_equal_blocks<2>(count, bytes, target_of, source_of);
    case 4:
      return copy_equal_blocks<4>(count, bytes, target_of, source_of);
    case 8:
      return copy_equal_blocks<8>(count, bytes, target_of, source_of);
    case 16:
      return copy_equal_blocks<16>(count, bytes, target_of, source_of);
    default:
      return copy_equal_blocks<0>(count, bytes, target_of, source_of);
  }
}

// Copies as many blocks of both lists as go into `bytes`; how many, 0 where the two do not go together.
int64_t copy_lists(std::byte* target, const List& target_list, const std::byte* source, const List& source_list,
                   int64_t bytes) {
  if (!target_list.is_equal() || !source_list.is_equal() || target_list.block != source_list.block) return 0;
  const int64_t count = std::min(target_list.whole_blocks(bytes), source_list.whole_blocks(bytes));
  const int64_t* to = target_list.displacements.data();
  const int64_t* from = source_list.displacements.data();
  target += target_list.offset;
  source += source_list.offset;
  copy_listed(
      count, source_list.block, [&](int64_t i) { return target + to[i]; }, [&](int64_t i) { return source + from[i]; });
  return count;
}

// Copies `count` listed blocks, between `base` and what is contiguous. `copy(listed, contiguous, bytes)` does one.
template <typename Byte, typename Contiguous, typename Copy>
void copy_list(const List& list, int64_t count, Byte* base, Contiguous* contiguous, const Copy& copy) {
  base += list.offset;
  const int64_t* places = list.displacements.data();
  const int64_t* before = list.data_before.data();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bytes = before[i + 1] - before[i];
    copy(base + places[i], contiguous + (before[i] - before[0]), bytes);
  }
}

// Most blocks of a list of few elements each are one.
void copy_short(std::byte* target, const std::byte* source, int64_t bytes) {
  if (bytes == 8) {
    std::memcpy(target, source, 8);
  } else {
    std::memcpy(target, source, static_cast<size_t>(bytes));
  }
}

void copy_from_list(std::byte* target, const std::byte* source, const List& list, int64_t count) {
  if (list.is_equal()) {
    const int64_t* from = list.displacements.data();
    const int64_t bytes = list.block;
    source += list.offset;
    return copy_listed(
        count, bytes, [&](int64_t i) { return target + i * bytes; }, [&](int64_t i) { return source + from[i]; });
  }
  copy_list(list, count, source, target,
            [](const std::byte* listed, std::byte* packed, int64_t bytes) { copy_short(packed, listed, bytes); });
}

void copy_to_list(std::byte* target, const List& list, const std::byte* source, int64_t count) {
  if (list.is_equal()) {
    const int64_t* to = list.displacements.data();
    const int64_t bytes = list.block;
    target += list.offset;
    return copy_listed(
        count, bytes, [&](int64_t i) { return target + to[i]; }, [&](int64_t i) { return source + i * bytes; });
  }
  copy_list(list, count, target, source,
            [](std::byte* listed, const std::byte* packed, int64_t bytes) { copy_short(listed, packed, bytes); });
}

// What two walks have in common next, where one of them is a list, or both are: copied, and its bytes; 0 where it goes
// row by row.
int64_t copy_listed_ahead(NestCursor& target_walk, std::byte* target, NestCursor& source_walk, const std::byte* source,
                          int64_t bytes) {
  const auto to = target_walk.list();
  const auto from = source_walk.list();
  if (to && from) {
    const int64_t count = copy_lists(target, *to, source, *from, bytes);
    if (count == 0) return 0;
    target_walk.advance_list(count);
    source_walk.advance_list(count);
    return count * from->block;
  }
  if (!to && !from) return 0;
  const Row contiguous = to ? source_walk.row() : target_walk.row();
  const List& list = to ? *to : *from;
  const int64_t count = list.whole_blocks(std::min(bytes, contiguous.block));
  if (count < kListedBlocksMin) return 0;
  const int64_t moved = list.bytes_of(count);
  if (to) {
    copy_to_list(target, list, source + contiguous.offset, count);
    target_walk.advance_list(count);
    source_walk.advance(moved);
  } else {
    copy_from_list(target + contiguous.offset, source, list, count);
    source_walk.advance_list(count);
    target_walk.advance(moved);
  }
  return moved;
}

// Copies `bytes` from one walk to another.
//
// Rows of equal blocks go together; a row of one side beside a longer block of the other goes along it; lists go in
// loops of their own. Else the shorter of the two blocks is a piece by itself.
void copy_along(NestCursor& target_walk, std::byte* target, NestCursor& source_walk, const std::byte* source,
                int64_t bytes) {
  while (bytes > 0) {
    if (const int64_t moved = copy_listed_ahead(target_walk, target, source_walk, source, bytes); moved > 0) {
      bytes -= moved;
      continue;
    }
    const Row to = target_walk.row();
    const Row from = source_walk.row();
    const int64_t block = std::min({to.block, from.block, bytes});
    CopyLevel level{1, 0, 0};
    const int64_t blocks_left = bytes / block;
    if (to.block == from.block) {
      level = {std::min({to.count, from.count, blocks_left}), from.stride, to.stride};
    } else if (block == from.block) {
      level = {std::min({from.count, to.block / block, blocks_left}), from.stride, block};
    } else if (block == to.block) {
      level = {std::min({to.count, from.block / block, blocks_left}), block, to.stride};
    }
    if (level.count <= 1) level = {1, 0, 0};
    copy_blocks(target + to.offset, source + from.offset, block, level);
    const int64_t moved = block * level.count;
    target_walk.advance(moved);
    source_walk.advance(moved);
    bytes -= moved;
  }
}

}  // namespace

void gather_view(const ViewRegions& regions, int64_t first, int64_t last, FileWindow<const std::byte> window,
                 std::byte* memory, const Lanes& lanes) {
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    NestCursor file(regions.file().nest, regions.file().first + first);
    NestCursor local(regions.memory(), regions.memory_first() + first);
    copy_along(local, memory + lane * lanes.memory_stride, file,
               window.bytes + (lane * lanes.file_stride - window.offset), last - first);
  }
}

void scatter_view(const ViewRegions& regions, int64_t first, int64_t last, FileWindow<std::byte> window,
                  const std::byte* memory, const Lanes& lanes) {
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    NestCursor file(regions.file().nest, regions.file().first + first);
    NestCursor local(regions.memory(), regions.memory_first() + first);
    copy_along(file, window.bytes + (lane * lanes.file_stride - window.offset), local,
               memory + lane * lanes.memory_stride, last - first);
  }
}

void copy_view_between_windows(const ViewRegions& regions, int64_t first, int64_t last, std::byte* target,
                               const std::byte* source, int64_t window_offset) {
  NestCursor file(regions.file().nest, regions.file().first + first);
  for (int64_t left = last - first; left > 0;) {
    if (const auto list = file.list(); list && list->is_equal()) {
      if (const int64_t count = copy_lists(target - window_offset, *list, source - window_offset, *list, left)) {
        file.advance_list(count);
        left -= count * list->block;
        continue;
      }
    }
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
