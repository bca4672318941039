// CRC-32 (ISO 3309), as in zlib and zip files: "123456789" has 0xCBF43926.
#pragma once

#include <cstdint>
#include <string_view>

namespace swath {

// The checksum of `bytes` after others with the checksum `before`; 0: after none.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);

}  // namespace swath
