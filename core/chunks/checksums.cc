#include "chunks/checksums.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace swath {
namespace {

constexpr uint32_t kCastagnoli = 0x82F63B78;  // the polynomial, lowest bit first

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

uint32_t crc32c_by_table(uint32_t crc, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint32_t>(byte)) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_by_sse42(uint32_t crc, std::span<const std::byte> bytes) {
  uint64_t state = crc;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    state = _mm_crc32_u64(state, word);
  }
  return crc32c_by_table(static_cast<uint32_t>(state), bytes);
}
#endif

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42) return ~crc32c_by_sse42(~uint32_t{0}, bytes);
#endif
  return ~crc32c_by_table(~uint32_t{0}, bytes);
}

uint32_t fletcher32(std::span<const std::byte> bytes) {
  // So many words can be added before the second sum leaves 32 bits.
  constexpr size_t kWordsAtOnce = 360;
  const auto fold = [](uint32_t sum) { return (sum & 0xFFFF) + (sum >> 16); };
  uint32_t first = 0;
  uint32_t second = 0;
  size_t words = bytes.size() / 2;
  const std::byte* at = bytes.data();
  while (words > 0) {
    const size_t now = std::min(words, kWordsAtOnce);
    for (size_t i = 0; i < now; ++i, at += 2) {
      first += (static_cast<uint32_t>(at[0]) << 8) | static_cast<uint32_t>(at[1]);
      second += first;
    }
    first = fold(first);
    second = fold(second);
    words -= now;
  }
  if (bytes.size() % 2 != 0) {
    first += static_cast<uint32_t>(*at) << 8;
    second += first;
    first = fold(first);
    second = fold(second);
  }
  return (fold(second) << 16) | fold(first);
}

}  // namespace swath
