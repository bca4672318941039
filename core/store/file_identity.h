// The identity of a file: an inode number alone may be reused after another file was removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace swath {

// Unique, if the file system reports creation times.
struct FileIdentity {
  uint64_t inode = 0;
  std::optional<int64_t> born;  // nanoseconds; nullopt if the file system does not report it

  // The identity of the file at a path (following links), or of an open file. Throws Refusal (store/file_calls.h).
  static FileIdentity of(const std::string& path);
  static FileIdentity of(int descriptor);

  // True if the known properties of both allow that they are the same file.
  bool may_be(const FileIdentity& other) const;
  bool operator==(const FileIdentity& other) const = default;
};

}  // namespace swath
