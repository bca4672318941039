// CRC-32 (ISO 3309), as zlib and zip files have it: "123456789" has 0xCBF43926.
#pragma once

#include <cstdint>
#include <string_view>

namespace swath {

// Of `bytes` behind others whose checksum is `before`; 0: behind none.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);

}  // namespace swath
