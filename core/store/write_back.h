// Write-back: the device writes what waits in the page cache before a sync asks for it, and the cache forgets it.
//
// All of it is advice: what the system refuses is left to the sync, which tells of errors.
#pragma once

#include <cstdint>
#include <string>

namespace swath {

// Has the kernel begin to write [offset, offset + bytes) to the device; waits for nothing but room in its queue.
void begin_write_back(int descriptor, int64_t offset, int64_t bytes);

// By path, for who has no engine for the file, as where a format's library writes it. Of bytes [begin, end); of the
// whole file where both are 0. Nothing happens where the path is no file.
void begin_write_back(const std::string& path, int64_t begin, int64_t end);
// Returns when they are on the device.
void finish_write_back(const std::string& path, int64_t begin, int64_t end);
// Gives up the pages that hold nothing else: one that others are still to read, or to write, would be read again.
void forget_cached(const std::string& path, int64_t begin, int64_t end);

}  // namespace swath
