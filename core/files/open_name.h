// The name by which a file was opened, with the device and inode that it had then, to detect that another program has
// replaced or removed the file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace swath {

class OpenName {
 public:
  explicit OpenName(std::string path) : path_(std::move(path)), opened_(now()) {}

  const std::string& path() const { return path_; }
  // True if another file has the name now, or none. The inode of an open file is not reused, so the comparison is
  // exact.
  bool is_replaced() const { return now() != opened_; }
  // Throws Error{kStore} with ESTALE if is_replaced(). `doing` is for the message: "write", "append to".
  void refuse_replaced(const std::string& doing) const;

 private:
  using FileNumber = std::pair<uint64_t, uint64_t>;  // device and inode; zeros if no file has the name
  FileNumber now() const;

  std::string path_;
  FileNumber opened_;
};

}  // namespace swath
