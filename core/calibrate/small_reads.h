// What one small contiguous read costs from request to bytes, beside the system call alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swath {

// Seconds of one read, a number a repetition.
struct SmallReads {
  std::vector<double> pread;
  std::vector<double> core;  // request, plan, run, by a solo comm
};

// Reads `bytes` at a time from places all over the file, `calls` times by each way in each repetition.
// Throws Error{kArgument} where there are no such reads.
SmallReads time_small_reads(const std::string& path, int64_t bytes, int calls, int repetitions);

}  // namespace swath
