#include "base/crc32.h"

#include <array>
#include <cstddef>

namespace swath {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // lowest bit first
constexpr size_t kAtOnce = 8;                 // bytes in one step: as many tables

using Tables = std::array<std::array<uint32_t, 256>, kAtOnce>;

// tables[n][byte]: what a byte makes of the checksum that n zero bytes follow.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t n = 1; n < kAtOnce; ++n) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32(std::string_view bytes, uint32_t before) {
  const auto byte = [&](size_t at) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[at])); };
  uint32_t crc = ~before;
  size_t at = 0;
  for (; bytes.size() - at >= kAtOnce; at += kAtOnce) {
    const uint32_t first = crc ^ (byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24);
    crc = kTables[7][first & 0xFF] ^ kTables[6][first >> 8 & 0xFF] ^ kTables[5][first >> 16 & 0xFF] ^
          kTables[4][first >> 24] ^ kTables[3][byte(at + 4)] ^ kTables[2][byte(at + 5)] ^ kTables[1][byte(at + 6)] ^
          kTables[0][byte(at + 7)];
  }
  for (; at < bytes.size(); ++at) crc = (crc >> 8) ^ kTables[0][(crc ^ byte(at)) & 0xFF];
  return ~crc;
}

}  // namespace swath
