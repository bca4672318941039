// Write-behind: if a sync will follow, long writes are cut into parts, and the device writes each part during the next.
#pragma once

#include <cstdint>

namespace swath {

constexpr int64_t kWriteBehindBytes = int64_t{512} << 10;     // a part
constexpr int64_t kWriteBehindBytesMin = int64_t{256} << 10;  // a shorter write gains nothing

}  // namespace swath
