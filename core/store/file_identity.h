// Which file it is: its inode may have been that of another file, which was removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace swath {

// No two files have the same, where the file system tells when files were made.
struct FileIdentity {
  uint64_t inode = 0;
  std::optional<int64_t> born;  // nanoseconds; none where the file system does not tell

  // Of the file that has the name, through links, or of one that is open. Throws Refusal (store/file_calls.h).
  static FileIdentity of(const std::string& path);
  static FileIdentity of(int descriptor);

  // Whether they are the same file, as far as is known of both.
  bool may_be(const FileIdentity& other) const;
  bool operator==(const FileIdentity& other) const = default;
};

}  // namespace swath
