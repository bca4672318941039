// Gathering one- and two-byte blocks with byte shuffles.
//
// No gather instructions: they are no faster here than loads one by one, and several times slower on the processors
// whose microcode works around "gather data sampling".
#ifdef __x86_64__
#include <immintrin.h>

#include <cstring>

#include "layout/copy_kernels.h"

#define SWATH_AVX2 __attribute__((target("avx2")))

namespace swath {
namespace {

SWATH_AVX2 __m256i load_two(const std::byte* first, const std::byte* second) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

// places[piece]: which byte of that piece goes to each byte of the vector; 0xFF leaves zero.
void make_places(const RowShape& shape, size_t pieces, LinePattern& pattern) {
  pattern.has_places = true;
  for (size_t piece = 0; piece < pieces; ++piece) {
    for (int64_t at = 0; at < 16; ++at) {
      const int64_t offset =
          at / shape.bytes * shape.source_stride + at % shape.bytes - 16 * static_cast<int64_t>(piece);
      pattern.places[piece][static_cast<size_t>(at)] = static_cast<uint8_t>(offset >= 0 && offset < 16 ? offset : 0xFF);
    }
  }
}

// Two vectors of 16 packed bytes at once, each from kPieces pieces of 16 bytes.
//
// A shuffle takes from each piece the bytes that are wanted of it and leaves zero elsewhere; the pieces are or-ed.
// Example: blocks of 2 at a stride of 6: the first piece gives blocks 0, 1, 2 (bytes 0, 6, 12), the second 3, 4, 5
// (bytes 18, 24, 30), the third 6, 7 (bytes 36, 42).
template <size_t kPieces>
SWATH_AVX2 void gather_row(std::byte* target, const std::byte* source, int64_t count, const RowShape& shape,
                           LinePattern& pattern) {
  const int64_t bytes = shape.bytes;
  const int64_t stride = shape.source_stride;
  const int64_t per_vector = 16 / bytes;
  if (!pattern.has_places) make_places(shape, kPieces, pattern);
  __m256i places[kPieces];
  for (size_t piece = 0; piece < kPieces; ++piece) {
    const auto* from = reinterpret_cast<const __m128i*>(pattern.places[piece].data());
    places[piece] = _mm256_broadcastsi128_si256(_mm_load_si128(from));
  }
  int64_t i = 0;
  // Not the last vectors: their pieces could reach beyond the last block.
  for (; (count - i - 1) * stride + bytes >= per_vector * stride + int64_t{16 * kPieces}; i += 2 * per_vector) {
    const std::byte* first = source + i * stride;
    const std::byte* second = first + per_vector * stride;
    __m256i packed = _mm256_shuffle_epi8(load_two(first, second), places[0]);
#pragma GCC unroll 8
    for (size_t piece = 1; piece < kPieces; ++piece) {
      const __m256i bytes_of_both = load_two(first + 16 * piece, second + 16 * piece);
      packed = _mm256_or_si256(packed, _mm256_shuffle_epi8(bytes_of_both, places[piece]));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + i * bytes), packed);
  }
  portable_row(bytes)(target + i * bytes, source + i * stride, count - i, shape, pattern);
}

}  // namespace

RowKernel gather_with_avx2(const RowShape& shape) {
  if (shape.bytes > 2 || shape.source_stride < 2 * shape.bytes) return nullptr;
  const int64_t per_vector = 16 / shape.bytes;
  switch (((per_vector - 1) * shape.source_stride + shape.bytes + 15) / 16) {
    case 2:
      return gather_row<2>;
    case 3:
      return gather_row<3>;
    case 4:
      return gather_row<4>;
    case 5:
      return gather_row<5>;
    case 6:
      return gather_row<6>;
    case 7:
      return gather_row<7>;
    case 8:
      return gather_row<8>;
    default:
      return nullptr;
  }
}

}  // namespace swath
#endif
