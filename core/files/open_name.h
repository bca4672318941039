// The name by which a file is open, and which file had it then: others may replace the file, or remove it, meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace swath {

class OpenName {
 public:
  explicit OpenName(std::string path) : path_(std::move(path)), opened_(now()) {}

  const std::string& path() const { return path_; }
  // Whether another file has the name now, or none. What is open keeps its inode for itself.
  bool is_replaced() const { return now() != opened_; }
  // Throws Error{kStore} with ESTALE where it is. `doing`: "write", "append to".
  void refuse_replaced(const std::string& doing) const;

 private:
  using FileNumber = std::pair<uint64_t, uint64_t>;  // device and inode; zeros where no file has the name
  FileNumber now() const;

  std::string path_;
  FileNumber opened_;
};

}  // namespace swath
