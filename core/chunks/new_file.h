// A file that replaces another one of its name as a whole: written aside, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "chunks/stored_chunks.h"

namespace swath {

class NewFile {
 public:
  // Pieces smaller than this are gathered, in memory of at most twice as much.
  static constexpr int64_t kGatheredBytes = int64_t{1} << 20;

  // Begins `name` (which may have folders in it; they are made) in the folder. `folder_path` is for messages. Throws
  // Error{kStore}, as everything here does where the system refuses.
  NewFile(int folder, const std::string& folder_path, std::string name, Counters& counters);
  // Removes what was written unless it was completed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int64_t bytes() const { return written_ + static_cast<int64_t>(gathered_.size()); }
  // Behind what is there. Small pieces are gathered.
  void append(std::span<const std::byte> bytes);
  // Over what is there, from byte 0 on.
  void replace_start(std::span<const std::byte> bytes);
  // Gives the file its name: from now on whoever opens the name finds it whole.
  void complete();

 private:
  void flush();
  void write_at(std::span<const std::byte> bytes, int64_t offset);
  [[noreturn]] void fail(const std::string& what, int error) const;

  int folder_;
  std::string path_;
  std::string name_;
  std::string aside_;
  Counters& counters_;
  Descriptor descriptor_;
  std::vector<std::byte> gathered_;
  int64_t written_ = 0;
  bool completed_ = false;
};

}  // namespace swath
