#include "chunks/checksums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

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
// Each instruction waits for the last one: three streams of this many bytes at the same time use the waits.
constexpr size_t kStreamBytes = 4096;

__attribute__((target("sse4.2"))) uint32_t crc32c_of_words(uint32_t crc, const std::byte* bytes, size_t words) {
  uint64_t state = crc;
  for (size_t i = 0; i < words; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + 8 * i, 8);
    state = _mm_crc32_u64(state, word);
  }
  return static_cast<uint32_t>(state);
}

// The state after a number of zero bytes. This is linear in the state: a table gives the result of each byte of it.
class AfterZeros {
 public:
  explicit AfterZeros(size_t bytes) {
    const std::vector<std::byte> zeros(bytes);
    for (uint32_t bit = 0; bit < 32; ++bit) {
      const uint32_t after = crc32c_of_words(uint32_t{1} << bit, zeros.data(), bytes / 8);
      auto& table = tables_[bit / 8];
      const uint32_t first = uint32_t{1} << (bit % 8);
      for (uint32_t lower = 0; lower < first; ++lower) table[first + lower] = table[lower] ^ after;
    }
  }
  uint32_t of(uint32_t crc) const {
    return tables_[0][crc & 0xFF] ^ tables_[1][crc >> 8 & 0xFF] ^ tables_[2][crc >> 16 & 0xFF] ^ tables_[3][crc >> 24];
  }

 private:
  std::array<std::array<uint32_t, 256>, 4> tables_{};
};

// Combines three streams that follow each other.
__attribute__((target("sse4.2"))) uint32_t crc32c_of_streams(uint32_t crc, const std::byte* bytes) {
  static const AfterZeros after_stream(kStreamBytes);
  std::array<uint64_t, 3> states{crc, 0, 0};
  for (size_t i = 0; i < kStreamBytes; i += 8) {
    std::array<uint64_t, 3> words{};
    for (size_t k = 0; k < 3; ++k) std::memcpy(&words[k], bytes + k * kStreamBytes + i, 8);
    for (size_t k = 0; k < 3; ++k) states[k] = _mm_crc32_u64(states[k], words[k]);
  }
  const uint32_t two = after_stream.of(static_cast<uint32_t>(states[0])) ^ static_cast<uint32_t>(states[1]);
  return after_stream.of(two) ^ static_cast<uint32_t>(states[2]);
}

uint32_t crc32c_by_sse42(uint32_t crc, std::span<const std::byte> bytes) {
  for (; bytes.size() >= 3 * kStreamBytes; bytes = bytes.subspan(3 * kStreamBytes)) {
    crc = crc32c_of_streams(crc, bytes.data());
  }
  const size_t words = bytes.size() / 8;
  return crc32c_by_table(crc32c_of_words(crc, bytes.data(), words), bytes.subspan(8 * words));
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
  // The number of words that can be added before the second sum overflows 32 bits.
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
