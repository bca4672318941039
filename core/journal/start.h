// Which file a journal is of: its first record says it, and says which file the journal itself was then.
//
// The number of an inode alone does not identify a file, since it is given to another one as soon as the file is gone.
// The time of birth does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/file_identity.h"

namespace swath {

// What the first record of a journal says.
struct Start {
  FileIdentity file;
  int64_t size = 0;  // bytes of the file, before it was changed
  // The journal itself, of which a copy is another file; none where the records are in memory.
  std::optional<FileIdentity> journal;

  // None where the text is no first record that this version knows.
  static std::optional<Start> parse(std::string_view text);
  // {"swath": 1, "file": 4242, "born": 1790000000000000000, "size": 512, "journal": [4243, 1790000000000000001]}
  std::string text() const;

  // Whether the file is gone: the one that has its name now is younger than the journal, which is no copy.
  bool was_replaced_by(const FileIdentity& now, const std::optional<FileIdentity>& journal_now) const;
};

}  // namespace swath
