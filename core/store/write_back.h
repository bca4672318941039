// Write-back: the device writes dirty pages before a sync asks for it, and the cache drops them.
//
// All calls are hints: the sync reports errors.
#pragma once

#include <cstdint>
#include <string>

namespace swath {

// The kernel starts to write [offset, offset + bytes) to the device; waits only for room in its queue.
void begin_write_back(int descriptor, int64_t offset, int64_t bytes);

// By path, for callers without an engine, such as a format's library. Bytes [begin, end); both 0: the whole file. Does
// nothing if the path is not a file.
void begin_write_back(const std::string& path, int64_t begin, int64_t end);
// Waits until they are on the device.
void finish_write_back(const std::string& path, int64_t begin, int64_t end);
// Drops the range's pages from the cache, except those shared with other bytes, which may be needed soon.
void forget_cached(const std::string& path, int64_t begin, int64_t end);

}  // namespace swath
