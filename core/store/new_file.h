// A new file of a folder that replaces the one of its name as a whole: written under a working name, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "store/folder_store.h"

namespace swath {

class NewFile {
 public:
  // Smaller pieces are gathered in a buffer of at most twice this size.
  static constexpr int64_t kGatheredBytes = int64_t{1} << 20;

  // Creates `name` in the folder (and the folders that it names). `stream` moves its bytes. All methods throw
  // Error{kStore} for errors of the system.
  NewFile(const FolderStore& folder, std::string name, Stream& stream, Counters& counters);
  // Removes the file unless it was completed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int64_t bytes() const { return written_ + static_cast<int64_t>(gathered_.size()); }
  // Writes at the end. Small pieces are gathered.
  void append(std::span<const std::byte> bytes);
  // Overwrites bytes from byte 0 on.
  void replace_start(std::span<const std::byte> bytes);
  // Renames the file: from now on the name leads to the complete file.
  void complete();

 private:
  void remove() const noexcept;
  void flush();
  void write_at(std::span<const std::byte> bytes, int64_t offset);
  [[noreturn]] void fail(const std::string& what, int error) const;

  const FolderStore& folder_;
  const std::string name_;
  const std::string working_name_;
  Counters& counters_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::byte> gathered_;
  int64_t written_ = 0;
  bool completed_ = false;
};

}  // namespace swath
