// Files of Swath's own in a user's folder: their names follow from the name of the user's file, so that the next
// process finds them. Others can guess the names, too: what they have planted there is refused, and never followed.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/descriptor.h"
#include "base/fork.h"

namespace swath {

// Somebody else has the file locked: "process 4711 (python3)", or "another process".
class HeldByOther : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error{kStore} with EPERM where what has the name is not this user's own file or folder; nothing may have it.
// It may have a second name where that is `target`: it was to be removed next when its process was killed. Empty: none.
//
// Nobody else can replace it afterwards where the folder is one in which each user may remove only what is theirs
// (/tmp); in a folder where others may remove everything, no name is safe.
void refuse_planted(const std::string& path, const std::string& target = "");

// A file of such a name, open for reading and for appending, and locked (flock) as long as this lives. It is for this
// user only, and is made where there is none. A forked child has no part in the lock.
class OwnFile {
 public:
  // Waits for nobody. Throws HeldByOther, Error{kStore} as refuse_planted() does, and Refusal (store/file_calls.h).
  explicit OwnFile(std::string path);
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  const std::string& path() const { return path_; }
  // -1 when it was closed.
  int descriptor() const { return file_.get(); }
  // Whether the file still has its name. Throws Refusal.
  bool has_name() const;
  // Goes on with another file, locked as well, that has taken the name; the one before is unlocked and closed.
  void go_on_with(Descriptor renamed);
  // Unlocks it, which in a forked child its parent alone may.
  void close() noexcept;

 private:
  std::string path_;
  Descriptor file_;
  const uint64_t made_in_ = fork_generation();
};

}  // namespace swath
