// What every x86-64 has: pairs of loads, in-register transposes, stores past the cache.
#ifdef __x86_64__
#include <emmintrin.h>

#include <algorithm>
#include <cstring>

#include "layout/copy_kernels.h"

namespace swath {
namespace {

__m128i load(const std::byte* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
void store(std::byte* at, __m128i value) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), value); }
void stream_store(std::byte* at, __m128i value) { _mm_stream_si128(reinterpret_cast<__m128i*>(at), value); }

template <int64_t kBytes>
struct Lanes;

template <>
struct Lanes<1> {
  static __m128i low(__m128i a, __m128i b) { return _mm_unpacklo_epi8(a, b); }
  static __m128i high(__m128i a, __m128i b) { return _mm_unpackhi_epi8(a, b); }
};
template <>
struct Lanes<2> {
  static __m128i low(__m128i a, __m128i b) { return _mm_unpacklo_epi16(a, b); }
  static __m128i high(__m128i a, __m128i b) { return _mm_unpackhi_epi16(a, b); }
};
template <>
struct Lanes<4> {
  static __m128i low(__m128i a, __m128i b) { return _mm_unpacklo_epi32(a, b); }
  static __m128i high(__m128i a, __m128i b) { return _mm_unpackhi_epi32(a, b); }
  static __m128i load_one(const std::byte* at) {
    int value = 0;
    std::memcpy(&value, at, sizeof(value));
    return _mm_cvtsi32_si128(value);
  }
  static __m128i gather(const std::byte* source, int64_t stride) {
    const __m128i first = low(load_one(source), load_one(source + stride));
    const __m128i second = low(load_one(source + 2 * stride), load_one(source + 3 * stride));
    return _mm_unpacklo_epi64(first, second);
  }
};
template <>
struct Lanes<8> {
  static __m128i low(__m128i a, __m128i b) { return _mm_unpacklo_epi64(a, b); }
  static __m128i high(__m128i a, __m128i b) { return _mm_unpackhi_epi64(a, b); }
  static __m128i load_one(const std::byte* at) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)); }
  static __m128i gather(const std::byte* source, int64_t stride) {
    return low(load_one(source), load_one(source + stride));
  }
};

template <>
struct Lanes<16> {
  static __m128i gather(const std::byte* source, int64_t) { return load(source); }
};

// Half, or a quarter, of the stores of a loop over the blocks: 1.2 to 1.4 times as fast from the second-level cache.
// The four stores of a line come after all of its loads: streamed, they then leave as one line (1.1 times as fast).
template <int64_t kBytes, void (*kStore)(std::byte*, __m128i)>
void gather_row(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape, LinePattern&) {
  constexpr int64_t kVector = 16 / kBytes;
  const int64_t stride = shape.source_stride;
  int64_t i = 0;
  for (; i + 4 * kVector <= count; i += 4 * kVector) {
    const std::byte* from = source + i * stride;
    const __m128i a = Lanes<kBytes>::gather(from, stride);
    const __m128i b = Lanes<kBytes>::gather(from + kVector * stride, stride);
    const __m128i c = Lanes<kBytes>::gather(from + 2 * kVector * stride, stride);
    const __m128i d = Lanes<kBytes>::gather(from + 3 * kVector * stride, stride);
    std::byte* to = target + i * kBytes;
    kStore(to, a);
    kStore(to + 16, b);
    kStore(to + 32, c);
    kStore(to + 48, d);
  }
  for (; i < count; ++i) std::memcpy(target + i * kBytes, source + i * stride, kBytes);
}

// A square of n x n blocks, n = 16 / kBytes, in registers.
//
// Interleaving row i with row i + n/2, log2(n) times, is the transpose: each round rotates the 2 * log2(n) bits of an
// element's place by one. Rows ab, cd of two: one round gives ac, bd.
template <int64_t kBytes>
void transpose_square(std::byte* target, int64_t target_stride, const std::byte* source, int64_t source_stride) {
  constexpr size_t kRows = 16 / kBytes;
  __m128i rows[kRows];
  for (size_t r = 0; r < kRows; ++r) rows[r] = load(source + static_cast<int64_t>(r) * source_stride);
  for (size_t round = 1; round < kRows; round *= 2) {
    __m128i before[kRows];
    std::copy(rows, rows + kRows, before);
    for (size_t r = 0; r < kRows / 2; ++r) {
      rows[2 * r] = Lanes<kBytes>::low(before[r], before[r + kRows / 2]);
      rows[2 * r + 1] = Lanes<kBytes>::high(before[r], before[r + kRows / 2]);
    }
  }
  for (size_t r = 0; r < kRows; ++r) store(target + static_cast<int64_t>(r) * target_stride, rows[r]);
}

template <int64_t kBytes>
void transpose(std::byte* target, int64_t target_stride, const std::byte* source, int64_t source_stride, int64_t rows,
               int64_t columns) {
  constexpr int64_t kSquare = 16 / kBytes;
  const int64_t whole_rows = rows / kSquare * kSquare;
  const int64_t whole_columns = columns / kSquare * kSquare;
  for (int64_t c = 0; c < whole_columns; c += kSquare) {
    for (int64_t r = 0; r < whole_rows; r += kSquare) {
      transpose_square<kBytes>(target + c * target_stride + r * kBytes, target_stride,
                               source + r * source_stride + c * kBytes, source_stride);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      std::memcpy(target + c * target_stride + r * kBytes, source + r * source_stride + c * kBytes, kBytes);
    }
  }
}

}  // namespace

RowKernel gather_with_sse2(const RowShape& shape) {
  if (shape.bytes == 8) return gather_row<8, store>;
  if (shape.bytes == 4) return gather_row<4, store>;
  return nullptr;
}

RowKernel streamed_gather_with_sse2(const RowShape& shape) {
  if (shape.bytes == 16) return gather_row<16, stream_store>;
  if (shape.bytes == 8) return gather_row<8, stream_store>;
  if (shape.bytes == 4) return gather_row<4, stream_store>;
  return nullptr;
}

TransposeKernel transpose_with_sse2(int64_t bytes, int64_t rows, int64_t columns) {
  if (std::min(rows, columns) * bytes < 16) return nullptr;
  switch (bytes) {
    case 1:
      return transpose<1>;
    case 2:
      return transpose<2>;
    case 4:
      return transpose<4>;
    case 8:
      return transpose<8>;
    default:
      return nullptr;
  }
}

void stream_with_sse2(std::byte* target, const std::byte* source, int64_t bytes) {
  // The first bytes, up to where the target's lines begin.
  const int64_t head = std::min(bytes, -into_line(target) & (kLine - 1));
  std::memcpy(target, source, static_cast<size_t>(head));
  int64_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    const __m128i a = load(source + at);
    const __m128i b = load(source + at + 16);
    const __m128i c = load(source + at + 32);
    const __m128i d = load(source + at + 48);
    auto* to = reinterpret_cast<__m128i*>(target + at);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  std::memcpy(target + at, source + at, static_cast<size_t>(bytes - at));
}

void finish_streaming() { _mm_sfence(); }

}  // namespace swath
#endif
