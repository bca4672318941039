// The cost of one small contiguous read from request to bytes, compared with the system call alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swath {

// Seconds of one read; one number for each repetition.
struct SmallReads {
  std::vector<double> pread;
  std::vector<double> core;  // request, plan, run, by a solo comm
};

// Reads `bytes` at a time from places all over the file, `calls` times by each way in each repetition. Throws
// Error{kArgument} if no such read exists.
SmallReads time_small_reads(const std::string& path, int64_t bytes, int calls, int repetitions);

}  // namespace swath
