// Write-behind: where a sync will follow, long writes are cut, and the device begins with each part while the next one
// is written.
#pragma once

#include <cstdint>

namespace swath {

constexpr int64_t kWriteBehindBytes = int64_t{512} << 10;     // a part
constexpr int64_t kWriteBehindBytesMin = int64_t{256} << 10;  // of less a sync is as fast without

}  // namespace swath
