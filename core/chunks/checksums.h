// Checksums of chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace swath {

// CRC-32C (Castagnoli), RFC 3720 appendix B.4: "123456789" has 0xE3069283.
uint32_t crc32c(std::span<const std::byte> bytes);

// HDF5's Fletcher-32: sums modulo 65,535 of 16-bit big-endian words, an odd last byte being the high half of a word.
uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace swath
