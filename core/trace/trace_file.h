// The trace file of one process. It consists of gzip members, each with whole lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace swath::trace {

// The file is opened for each append. Between two appends the traced program may close descriptors that it does not
// know, as launchers do, and use their numbers for files of its own.
class TraceFile {
 public:
  // Creates the file, and the folder if needed. Throws Error{kStore} on failure. `bytes_max`: the maximum size of the
  // file.
  TraceFile(const std::string& folder, int rank, int64_t bytes_max);

  const std::string& path() const { return path_; }
  // Appends the lines as one member. Returns an empty text, or the reason why it failed. After a failure, the file
  // still ends with a whole member, and later calls append nothing.
  std::string append(std::string_view lines);

 private:
  void end_with_whole_members(int descriptor);

  std::string path_;
  int64_t bytes_ = 0;
  const int64_t bytes_max_;
  std::string stopped_;  // why appending has failed; empty: it has not
};

}  // namespace swath::trace
