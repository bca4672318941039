#include "layout/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace swath {
namespace {

// A block whose size the compiler knows is one load and one store.
template <int64_t kBytes>
struct FixedBlock {
  static constexpr int64_t kSize = kBytes;
  static void copy(std::byte* target, const std::byte* source, int64_t) { std::memcpy(target, source, kBytes); }
};
struct AnyBlock {
  static constexpr int64_t kSize = 0;
  static void copy(std::byte* target, const std::byte* source, int64_t bytes) {
    std::memcpy(target, source, static_cast<size_t>(bytes));
  }
};

// Blocks that go past the cache. Every x86-64 has these stores; elsewhere they are ordinary ones.
#ifdef __SSE2__
template <int64_t kBytes>
struct StreamedBlock;

template <>
struct StreamedBlock<4> {
  static constexpr int64_t kSize = 4;
  static void copy(std::byte* target, const std::byte* source, int64_t) {
    int value = 0;
    std::memcpy(&value, source, sizeof(value));
    _mm_stream_si32(reinterpret_cast<int*>(target), value);
  }
};

template <>
struct StreamedBlock<8> {
  static constexpr int64_t kSize = 8;
  static void copy(std::byte* target, const std::byte* source, int64_t) {
    long long value = 0;
    std::memcpy(&value, source, sizeof(value));
    _mm_stream_si64(reinterpret_cast<long long*>(target), value);
  }
};

struct StreamedAnyBlock {
  static constexpr int64_t kSize = 0;
  static void copy(std::byte* target, const std::byte* source, int64_t bytes) {
    constexpr int64_t kLine = 64;
    // The first bytes, up to where the target's lines begin.
    const int64_t head = std::min(bytes, -reinterpret_cast<intptr_t>(target) & (kLine - 1));
    std::memcpy(target, source, static_cast<size_t>(head));
    int64_t at = head;
    for (; at + kLine <= bytes; at += kLine) {
      const auto* from = reinterpret_cast<const __m128i*>(source + at);
      auto* to = reinterpret_cast<__m128i*>(target + at);
      const __m128i a = _mm_loadu_si128(from);
      const __m128i b = _mm_loadu_si128(from + 1);
      const __m128i c = _mm_loadu_si128(from + 2);
      const __m128i d = _mm_loadu_si128(from + 3);
      _mm_stream_si128(to, a);
      _mm_stream_si128(to + 1, b);
      _mm_stream_si128(to + 2, c);
      _mm_stream_si128(to + 3, d);
    }
    std::memcpy(target + at, source + at, static_cast<size_t>(bytes - at));
  }
};

void finish_streaming() { _mm_sfence(); }
#else
template <int64_t kBytes>
using StreamedBlock = FixedBlock<kBytes>;
using StreamedAnyBlock = AnyBlock;
void finish_streaming() {}
#endif

// Strides by value, because a store through std::byte* may change anything that is read through a reference.
template <typename Block, typename TargetStride, typename SourceStride>
void copy_blocks(std::byte* target, const std::byte* source, int64_t bytes, int64_t count, TargetStride target_stride,
                 SourceStride source_stride) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) {
    Block::copy(target + i * target_stride, source + i * source_stride, bytes);
  }
}

// Shorter rows leave partly filled lines, which streamed stores write back piece by piece.
constexpr int64_t kStreamedRowBytesMin = 512;

// Where one side is packed its stride is a constant too: the row of a gather, of a scatter.
template <typename Block>
void copy_row(std::byte* target, const std::byte* source, int64_t bytes, const CopyLevel& level) {
  using Packed = std::integral_constant<int64_t, Block::kSize>;
  if (level.target_stride == Packed()) {
    copy_blocks<Block>(target, source, bytes, level.count, Packed(), level.source_stride);
  } else if (level.source_stride == Packed()) {
    copy_blocks<Block>(target, source, bytes, level.count, level.target_stride, Packed());
  } else {
    copy_blocks<Block>(target, source, bytes, level.count, level.target_stride, level.source_stride);
  }
}

// The two fastest levels where one side runs along one of them and the other side along the other (a transpose): tiles
// whose rows fit in the first-level cache on both sides.
template <typename Block>
void copy_tiles(std::byte* target, const std::byte* source, int64_t bytes, const CopyLevel& slow,
                const CopyLevel& fast) {
  constexpr int64_t kTile = 32;
  for (int64_t i = 0; i < slow.count; i += kTile) {
    for (int64_t j = 0; j < fast.count; j += kTile) {
      const CopyLevel row{std::min(kTile, fast.count - j), fast.source_stride, fast.target_stride};
      for (int64_t k = i; k < std::min(i + kTile, slow.count); ++k) {
        copy_row<Block>(target + k * slow.target_stride + j * fast.target_stride,
                        source + k * slow.source_stride + j * fast.source_stride, bytes, row);
      }
    }
  }
}

template <typename Block>
void copy_nest(std::byte* target, const std::byte* source, int64_t bytes, const CopyLevel* levels, size_t depth,
               bool tiled) {
  if (depth == 0) {
    Block::copy(target, source, bytes);
  } else if (depth == 1) {
    copy_row<Block>(target, source, bytes, levels[0]);
  } else if (depth == 2 && tiled) {
    copy_tiles<Block>(target, source, bytes, levels[0], levels[1]);
  } else {
    for (int64_t i = 0; i < levels[0].count; ++i) {
      copy_nest<Block>(target + i * levels[0].target_stride, source + i * levels[0].source_stride, bytes, levels + 1,
                       depth - 1, tiled);
    }
  }
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

using NestFunction = void (*)(std::byte*, const std::byte*, int64_t, const CopyLevel*, size_t, bool);

NestFunction nest_for(int64_t bytes) {
  switch (bytes) {
    case 1:
      return copy_nest<FixedBlock<1>>;
    case 2:
      return copy_nest<FixedBlock<2>>;
    case 4:
      return copy_nest<FixedBlock<4>>;
    case 8:
      return copy_nest<FixedBlock<8>>;
    case 16:
      return copy_nest<FixedBlock<16>>;
    case 24:
      return copy_nest<FixedBlock<24>>;
    case 32:
      return copy_nest<FixedBlock<32>>;
    case 64:
      return copy_nest<FixedBlock<64>>;
    default:
      return copy_nest<AnyBlock>;
  }
}

NestFunction streamed_nest_for(int64_t bytes) {
  switch (bytes) {
    case 4:
      return copy_nest<StreamedBlock<4>>;
    case 8:
      return copy_nest<StreamedBlock<8>>;
    default:
      return bytes >= kStreamedRowBytesMin ? copy_nest<StreamedAnyBlock> : nest_for(bytes);
  }
}

// Calls visit(low, high) for boxes of positions (one [low, high) a dimension) that together are [first, last).
//
// In mixed radix, [first, last) is: the rest of first's row, whole rows, the start of last's row, and the same again
// inside each of the two ragged ends: at most 2 * dimensions - 1 boxes.
class BoxWalk {
 public:
  using Visit = std::function<void(const std::vector<int64_t>&, const std::vector<int64_t>&)>;

  BoxWalk(const std::vector<RegionDimension>& dimensions, const Visit& visit)
      : dimensions_(dimensions), visit_(visit), low_(dimensions.size()), high_(dimensions.size()) {}

  void walk(int64_t first, int64_t last) {
    int64_t total = 1;
    for (const auto& dimension : dimensions_) total *= dimension.indices.count();
    descend(0, total, first, last);
  }

 private:
  void descend(size_t d, int64_t total, int64_t first, int64_t last) {
    if (first >= last) return;
    if (d == dimensions_.size() || (first == 0 && last == total)) {
      for (size_t e = d; e < dimensions_.size(); ++e) {
        low_[e] = 0;
        high_[e] = dimensions_[e].indices.count();
      }
      visit_(low_, high_);
      return;
    }
    const int64_t inner = total / dimensions_[d].indices.count();
    const int64_t first_whole = (first + inner - 1) / inner;
    const int64_t last_whole = last / inner;
    if (first_whole > last_whole) {  // all within one index
      descend_at(d, last_whole, inner, first - last_whole * inner, last - last_whole * inner);
      return;
    }
    if (first < first_whole * inner) descend_at(d, first_whole - 1, inner, first - (first_whole - 1) * inner, inner);
    if (first_whole < last_whole) {
      low_[d] = first_whole;
      high_[d] = last_whole;
      descend(d + 1, inner, 0, inner);
    }
    descend_at(d, last_whole, inner, 0, last - last_whole * inner);
  }

  void descend_at(size_t d, int64_t index, int64_t inner, int64_t first, int64_t last) {
    low_[d] = index;
    high_[d] = index + 1;
    descend(d + 1, inner, first, last);
  }

  const std::vector<RegionDimension>& dimensions_;
  const Visit& visit_;
  std::vector<int64_t> low_, high_;
};

// What a copy needs to know of one piece of one dimension.
struct PlacedPiece {
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
  std::vector<std::vector<PlacedPiece>> choices(dimensions.size());
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
void walk(const Regions& regions, int64_t first, int64_t last, bool memory_follows_file, const Copy& copy) {
  if (first >= last) return;
  const auto& dimensions = regions.dimensions();
  const BoxWalk::Visit visit = [&](const std::vector<int64_t>& low, const std::vector<int64_t>& high) {
    for_each_strided_box(dimensions, low, high, memory_follows_file, copy);
  };
  BoxWalk(dimensions, visit).walk(first, last);
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
  simplify(bytes, levels);
  // Writing along the target is what the cache likes; where source and target disagree on the fastest level, tile.
  bool tiled = false;
  if (levels.size() >= 2) {
    const auto fastest_of = [&](auto stride) {
      return static_cast<size_t>(
          std::min_element(levels.begin(), levels.end(),
                           [&](const auto& a, const auto& b) { return std::abs(stride(a)) < std::abs(stride(b)); }) -
          levels.begin());
    };
    const size_t by_source = fastest_of([](const CopyLevel& level) { return level.source_stride; });
    const size_t by_target = fastest_of([](const CopyLevel& level) { return level.target_stride; });
    if (by_source != by_target) {
      tiled = true;
      const CopyLevel source_level = levels[by_source];
      const CopyLevel target_level = levels[by_target];
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(std::max(by_source, by_target)));
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(std::min(by_source, by_target)));
      levels.push_back(source_level);
      levels.push_back(target_level);
    }
  }
  const bool packed_row = !levels.empty() && levels.back().target_stride == bytes;
  const int64_t row_bytes = packed_row ? levels.back().count * bytes : bytes;
  const bool fills_lines = !tiled && row_bytes >= kStreamedRowBytesMin;
  const auto nest = use == Target::kStreamed && fills_lines ? streamed_nest_for(bytes) : nest_for(bytes);
  nest(target, source, bytes, levels.data(), levels.size(), tiled);
}

namespace {
// The offset of index 0 of every dimension, of which offset_of(0) is the first element.
int64_t file_base(const Regions& regions) {
  int64_t offset = regions.offset_of(0);
  for (const auto& dimension : regions.dimensions()) offset -= dimension.indices.front() * dimension.file_stride;
  return offset;
}
}  // namespace

void gather_from_window(const Regions& regions, int64_t first, int64_t last, const std::byte* window,
                        int64_t window_offset, std::byte* memory, Target use) {
  if (first >= last) return;
  const int64_t source_base = file_base(regions) - window_offset;
  const int64_t target_base = regions.memory_of(0);
  walk(regions, first, last, false, [&](int64_t file_offset, int64_t memory_offset, const auto& levels) {
    copy_levels(memory + (target_base + memory_offset), window + (source_base + file_offset), regions.element_bytes(),
                levels, use);
  });
  if (use == Target::kStreamed) finish_streaming();
}

void scatter_to_window(const Regions& regions, int64_t first, int64_t last, std::byte* window, int64_t window_offset,
                       const std::byte* memory) {
  if (first >= last) return;
  const int64_t target_base = file_base(regions) - window_offset;
  const int64_t source_base = regions.memory_of(0);
  walk(regions, first, last, false, [&](int64_t file_offset, int64_t memory_offset, const auto& levels) {
    copy_levels(window + (target_base + file_offset), memory + (source_base + memory_offset), regions.element_bytes(),
                reversed_direction(levels));
  });
}

void copy_between_windows(const Regions& regions, int64_t first, int64_t last, std::byte* target,
                          const std::byte* source, int64_t window_offset) {
  if (first >= last) return;
  const int64_t base = file_base(regions) - window_offset;
  walk(regions, first, last, true, [&](int64_t file_offset, int64_t, const auto& levels) {
    copy_levels(target + (base + file_offset), source + (base + file_offset), regions.element_bytes(), levels);
  });
}

}  // namespace swath
