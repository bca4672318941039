// The first record of a journal: it identifies the changed file, and the journal itself.
//
// The number of an inode alone does not identify a file: once the file is removed, another file can get the number. The
// creation time (`born`) tells them apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/file_identity.h"

namespace swath {

// The content of the first record.
struct Start {
  FileIdentity file;
  int64_t size = 0;  // the length of the file before it was changed
  // The journal's own identity, by which a copy is detected; none if the records are in memory.
  std::optional<FileIdentity> journal;

  // Returns nothing if the text is no first record that this version knows.
  static std::optional<Start> parse(std::string_view text);
  // {"swath": 1, "file": 4242, "born": 1790000000000000000, "size": 512, "journal": [4243, 1790000000000000001]}
  std::string text() const;

  // Whether another file has taken the name: it is younger than the journal, and the journal is no copy.
  bool was_replaced_by(const FileIdentity& now, const std::optional<FileIdentity>& journal_now) const;
};

}  // namespace swath
