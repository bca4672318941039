// Gathers and scatters of small blocks by whole lines: a permutation of each line, and masks.
//
// The lines are those of the cache: loads that straddle two of them are what limits the plain loops once the blocks are
// close together, so a row starts at the line of its first block. Of the first and the last vector of a row, only bytes
// between the first and the last block are touched: lanes that are masked out are neither read nor written.
#ifdef __x86_64__
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "layout/copy_kernels.h"

#define SWATH_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace swath {
namespace {

// The bytes [low, high) of a line, one bit each; both may lie outside the line.
uint64_t bytes_between(int64_t low, int64_t high) {
  low = std::max<int64_t>(low, 0);
  high = std::min(high, kLine);
  return low >= high ? 0 : ~uint64_t{0} >> (kLine - (high - low)) << low;
}

// Calls visit(lane of the packed vector, line of the strided side, byte in that line) for a new phase. Blocks have a
// power of two of bytes; lanes are as wide as blocks and phase allow: 2 bytes for blocks of 4 that start at byte 6.
template <typename Visit>
void renew(LinePattern& pattern, int64_t bytes, int64_t stride, int64_t phase, const Visit& visit) {
  const int64_t blocks = kLine >> std::countr_zero(static_cast<uint64_t>(bytes));
  const int64_t both = bytes | phase;
  pattern.phase = phase;
  pattern.lane_bytes = both & -both;
  pattern.lines = (phase + (blocks - 1) * stride + bytes + kLine - 1) / kLine;
  pattern.vector_stride = blocks * stride;
  std::fill_n(pattern.masks.begin(), pattern.lines, 0);
  size_t lane = 0;
  for (int64_t block = phase; block < phase + blocks * stride; block += stride) {
    for (int64_t at = block; at < block + bytes; at += pattern.lane_bytes) {
      visit(lane++, static_cast<size_t>(at / kLine), static_cast<size_t>(at % kLine));
    }
  }
}

// A lane's number is in its first byte, the others are zero.
void make_gather_pattern(const RowShape& shape, int64_t phase, LinePattern& pattern) {
  pattern.lanes[0].fill(0);
  renew(pattern, shape.bytes, shape.source_stride, phase, [&](size_t lane, size_t line, size_t byte) {
    const int width = std::countr_zero(static_cast<uint64_t>(pattern.lane_bytes));
    pattern.lanes[0][lane << width] = static_cast<uint8_t>(byte >> width);
    pattern.masks[line] |= uint64_t{1} << lane;
  });
}

void make_scatter_pattern(const RowShape& shape, int64_t phase, LinePattern& pattern) {
  for (auto& lanes : pattern.lanes) lanes.fill(0);
  renew(pattern, shape.bytes, shape.target_stride, phase, [&](size_t lane, size_t line, size_t byte) {
    pattern.lanes[line][byte] = static_cast<uint8_t>(lane);
    pattern.masks[line] |= ((uint64_t{1} << pattern.lane_bytes) - 1) << byte;
  });
}

// Lane i of the result is lane places[i] of `line` where the mask is set, and of `kept` elsewhere.
template <int64_t kLaneBytes>
SWATH_AVX512 __m512i permute(__m512i kept, uint64_t mask, __m512i places, __m512i line) {
  if constexpr (kLaneBytes == 4) {
    return _mm512_mask_permutexvar_epi32(kept, static_cast<__mmask16>(mask), places, line);
  } else if constexpr (kLaneBytes == 2) {
    return _mm512_mask_permutexvar_epi16(kept, static_cast<__mmask32>(mask), places, line);
  } else {
    return _mm512_mask_permutexvar_epi8(kept, mask, places, line);
  }
}

// The packed vector of the blocks in the lines from `from` on, of which the bytes [begin, end) may be read.
template <int64_t kLaneBytes>
SWATH_AVX512 __m512i collect_some(const std::byte* from, int64_t begin, int64_t end, __m512i places,
                                  const LinePattern& pattern) {
  __m512i packed = _mm512_setzero_si512();
  for (int64_t line = 0; line < pattern.lines; ++line) {
    const int64_t offset = line * kLine;
    const __m512i loaded = _mm512_maskz_loadu_epi8(bytes_between(begin - offset, end - offset), from + offset);
    packed = permute<kLaneBytes>(packed, pattern.masks[static_cast<size_t>(line)], places, loaded);
  }
  return packed;
}

template <int64_t kLaneBytes, bool kStreamed>
SWATH_AVX512 void gather_lines(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape,
                               const LinePattern& pattern) {
  const __m512i places = _mm512_load_si512(pattern.lanes[0].data());
  const int64_t lines = pattern.lines;
  const int64_t vector_stride = pattern.vector_stride;
  const std::byte* end = source + (count - 1) * shape.source_stride + shape.bytes;
  const std::byte* from = source - pattern.phase;
  std::byte* target_end = target + count * shape.bytes;
  if (from < source) {
    _mm512_storeu_si512(target, collect_some<kLaneBytes>(from, source - from, end - from, places, pattern));
    from += vector_stride;
    target += kLine;
  }
  for (; end - from >= lines * kLine; from += vector_stride, target += kLine) {
    __m512i packed = _mm512_setzero_si512();
    for (int64_t line = 0; line < lines; ++line) {
      packed = permute<kLaneBytes>(packed, pattern.masks[static_cast<size_t>(line)], places,
                                   _mm512_loadu_si512(from + line * kLine));
    }
    if constexpr (kStreamed) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(target), packed);
    } else {
      _mm512_storeu_si512(target, packed);
    }
  }
  for (; target < target_end; from += vector_stride, target += kLine) {
    const __m512i packed = collect_some<kLaneBytes>(from, source - from, end - from, places, pattern);
    _mm512_mask_storeu_epi8(target, bytes_between(0, target_end - target), packed);
  }
}

template <int64_t kLaneBytes>
SWATH_AVX512 void scatter_lines(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape,
                                const LinePattern& pattern) {
  const std::byte* end = target + (count - 1) * shape.target_stride + shape.bytes;
  const std::byte* source_end = source + count * shape.bytes;
  std::byte* to = target - pattern.phase;
  for (; source < source_end; to += pattern.vector_stride, source += kLine) {
    const __m512i packed = _mm512_maskz_loadu_epi8(bytes_between(0, source_end - source), source);
    for (int64_t line = 0; line < pattern.lines; ++line) {
      const auto which = static_cast<size_t>(line);
      std::byte* place = to + line * kLine;
      const __m512i lanes = _mm512_load_si512(pattern.lanes[which].data());
      const __m512i spread = permute<kLaneBytes>(packed, ~uint64_t{0}, lanes, packed);
      _mm512_mask_storeu_epi8(place, pattern.masks[which] & bytes_between(0, end - place), spread);
    }
  }
}

// Whether a row is too short for lines, or for a new pattern: one takes as long as some thousand bytes.
bool is_short(int64_t count, const RowShape& shape, int64_t phase, const LinePattern& pattern) {
  return count * shape.bytes < (phase == pattern.phase ? 2 * kLine : 128 * kLine);
}

template <bool kStreamed>
RowKernel gather_for_short_rows(const RowShape& shape) {
  RowKernel kernel = kStreamed ? streamed_gather_with_sse2(shape) : nullptr;
  if (kernel == nullptr) kernel = gather_with_avx2(shape);
  if (kernel == nullptr) kernel = gather_with_sse2(shape);
  return kernel != nullptr ? kernel : portable_row(shape.bytes);
}

template <bool kStreamed>
void gather_row(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape,
                LinePattern& pattern) {
  const int64_t phase = into_line(source);
  if (is_short(count, shape, phase, pattern)) {
    return gather_for_short_rows<kStreamed>(shape)(target, source, count, shape, pattern);
  }
  if (phase != pattern.phase) make_gather_pattern(shape, phase, pattern);
  if (pattern.lane_bytes == 4) return gather_lines<4, kStreamed>(target, source, count, shape, pattern);
  if (pattern.lane_bytes == 2) return gather_lines<2, kStreamed>(target, source, count, shape, pattern);
  gather_lines<1, kStreamed>(target, source, count, shape, pattern);
}

void scatter_row(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape,
                 LinePattern& pattern) {
  const int64_t phase = into_line(target);
  if (is_short(count, shape, phase, pattern)) {
    return portable_row(shape.bytes)(target, source, count, shape, pattern);
  }
  if (phase != pattern.phase) make_scatter_pattern(shape, phase, pattern);
  if (pattern.lane_bytes == 4) return scatter_lines<4>(target, source, count, shape, pattern);
  if (pattern.lane_bytes == 2) return scatter_lines<2>(target, source, count, shape, pattern);
  scatter_lines<1>(target, source, count, shape, pattern);
}

// Strides of up to `blocks` blocks, a whole number of them: the lines of a vector are then a whole number too.
bool within(int64_t bytes, int64_t stride, int64_t blocks) {
  return stride % bytes == 0 && stride >= 2 * bytes && stride <= blocks * bytes;
}

using Line = int64_t __attribute__((vector_size(64)));

SWATH_AVX512 Line load(const std::byte* at) { return reinterpret_cast<Line>(_mm512_loadu_si512(at)); }
SWATH_AVX512 void store(std::byte* at, Line line) { _mm512_storeu_si512(at, reinterpret_cast<__m512i>(line)); }

// Every second column of eight rows, given by pairs of rows: from 0a 1a 0c 1c 0e 1e 0g 1g and so on to 0a 1a ... 7a.
SWATH_AVX512 void store_columns(std::byte* target, int64_t stride, const Line (&pairs)[4]) {
  const Line upper_ae = __builtin_shufflevector(pairs[0], pairs[1], 0, 1, 8, 9, 4, 5, 12, 13);
  const Line upper_cg = __builtin_shufflevector(pairs[0], pairs[1], 2, 3, 10, 11, 6, 7, 14, 15);
  const Line lower_ae = __builtin_shufflevector(pairs[2], pairs[3], 0, 1, 8, 9, 4, 5, 12, 13);
  const Line lower_cg = __builtin_shufflevector(pairs[2], pairs[3], 2, 3, 10, 11, 6, 7, 14, 15);
  store(target, __builtin_shufflevector(upper_ae, lower_ae, 0, 1, 2, 3, 8, 9, 10, 11));
  store(target + stride, __builtin_shufflevector(upper_cg, lower_cg, 0, 1, 2, 3, 8, 9, 10, 11));
  store(target + 2 * stride, __builtin_shufflevector(upper_ae, lower_ae, 4, 5, 6, 7, 12, 13, 14, 15));
  store(target + 3 * stride, __builtin_shufflevector(upper_cg, lower_cg, 4, 5, 6, 7, 12, 13, 14, 15));
}

// 8 x 8 blocks of 8 bytes: eight lines in, eight lines out.
SWATH_AVX512 void transpose_square(std::byte* target, int64_t target_stride, const std::byte* source,
                                   int64_t source_stride) {
  // Rows 0 to 7, columns a to h. Pairs of rows: even[0] is 0a 1a 0c 1c 0e 1e 0g 1g, odd[0] the same of b, d, f, h.
  Line even[4];
  Line odd[4];
#pragma GCC unroll 4
  for (int64_t pair = 0; pair < 4; ++pair) {
    const Line upper = load(source + 2 * pair * source_stride);
    const Line lower = load(source + (2 * pair + 1) * source_stride);
    even[pair] = __builtin_shufflevector(upper, lower, 0, 8, 2, 10, 4, 12, 6, 14);
    odd[pair] = __builtin_shufflevector(upper, lower, 1, 9, 3, 11, 5, 13, 7, 15);
  }
  store_columns(target, 2 * target_stride, even);
  store_columns(target + target_stride, 2 * target_stride, odd);
}

SWATH_AVX512 void transpose_rows(std::byte* target, int64_t target_stride, const std::byte* source,
                                 int64_t source_stride, int64_t rows, int64_t columns) {
  const int64_t whole_rows = rows & -8;
  const int64_t whole_columns = columns & -8;
  for (int64_t c = 0; c < whole_columns; c += 8) {
    for (int64_t r = 0; r < whole_rows; r += 8) {
      transpose_square(target + c * target_stride + r * 8, target_stride, source + r * source_stride + c * 8,
                       source_stride);
    }
  }
  const TransposeKernel rest = transpose_with_sse2(8, 2, 2);
  rest(target + whole_columns * target_stride, target_stride, source + whole_columns * 8, source_stride, whole_rows,
       columns - whole_columns);
  rest(target + whole_rows * 8, target_stride, source + whole_rows * source_stride, source_stride, rows - whole_rows,
       columns);
}

}  // namespace

// The limits are where the lines come to cost as much as the blocks one by one: their loads and stores grow with the
// stride, those of the blocks do not. Blocks of 8 bytes gain nothing over the pairs of SSE2.
RowKernel gather_with_avx512(const RowShape& shape) {
  const bool pays = (shape.bytes == 1 && within(1, shape.source_stride, 16)) ||
                    (shape.bytes == 2 && within(2, shape.source_stride, 8)) ||
                    (shape.bytes == 4 && within(4, shape.source_stride, 3));
  return pays ? gather_row<false> : nullptr;
}

RowKernel streamed_gather_with_avx512(const RowShape& shape) {
  return gather_with_avx512(shape) != nullptr ? gather_row<true> : nullptr;
}

RowKernel scatter_with_avx512(const RowShape& shape) {
  const bool pays = (shape.bytes == 1 && within(1, shape.target_stride, 8)) ||
                    (shape.bytes == 2 && within(2, shape.target_stride, 4)) ||
                    (shape.bytes == 4 && within(4, shape.target_stride, 2));
  return pays ? scatter_row : nullptr;
}

TransposeKernel transpose_with_avx512(int64_t bytes, int64_t rows, int64_t columns) {
  return bytes == 8 && rows >= 8 && columns >= 8 ? transpose_rows : nullptr;
}

}  // namespace swath
#endif
