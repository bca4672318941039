// A file of a folder that replaces another one of its name as a whole: written under a working name, then renamed.
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
  // Pieces smaller than this are gathered, in memory of at most twice as much.
  static constexpr int64_t kGatheredBytes = int64_t{1} << 20;

  // Begins `name` (which may have folders in it; they are made) in the folder. `stream` moves its bytes. Throws
  // Error{kStore}, as everything here does where the system refuses.
  NewFile(const FolderStore& folder, std::string name, Stream& stream, Counters& counters);
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
