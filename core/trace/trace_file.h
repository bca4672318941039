// The file of one process's trace: gzip members, each of whole lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace swath::trace {

class TraceFile {
 public:
  // Makes the file in the folder, which it makes too. Throws Error{kStore} where it cannot.
  // `bytes_max`: how long the file may become.
  TraceFile(const std::string& folder, int rank, int64_t bytes_max);

  const std::string& path() const { return path_; }
  // Appends the lines as one member. Returns why not, where it cannot; the file ends with whole members then, too, and
  // nothing more is appended.
  std::string append(std::string_view lines);

 private:
  void end_with_whole_members();

  std::string path_;
  Descriptor descriptor_;
  int64_t bytes_ = 0;
  const int64_t bytes_max_;
  std::string stopped_;  // why nothing is appended any more
};

}  // namespace swath::trace
