// Swath's own files in a user's folder. The name of the user's file gives their names, so that the next process finds
// them. Other users can predict the names, too: files of other users are refused, and links are never followed.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/descriptor.h"
#include "base/fork.h"

namespace swath {

// Another process holds the lock of the file; the message is "process 4711 (python3)", or "another process".
class HeldByOther : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error{kStore} with EPERM if `path` exists and is not this user's own file or folder. The file may have a
// second name if that name is `target` (empty: none): a process was killed just before it removed the second name.
//
// Later, no other user can replace the file if each user may remove only their own files in the folder (/tmp). If
// others may remove every file of the folder, no name is safe.
void refuse_planted(const std::string& path, const std::string& target = "");

// One of Swath's own files, open for reading and appending, and locked (flock) as long as this object lives. Only this
// user may use it. It is created if it does not exist. A forked child has no part in the lock.
class OwnFile {
 public:
  // Does not wait. Throws HeldByOther, Error{kStore} as refuse_planted() does, and Refusal (store/file_calls.h).
  explicit OwnFile(std::string path);
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  const std::string& path() const { return path_; }
  // -1 after close().
  int descriptor() const { return file_.get(); }
  // Whether the file still has its name. Throws Refusal.
  bool has_name() const;
  // Uses another locked file, which has taken the name; the old file is unlocked and closed.
  void go_on_with(Descriptor renamed);
  // Unlocks and closes the file. A forked child closes it only: the lock is its parent's.
  void close() noexcept;

 private:
  std::string path_;
  Descriptor file_;
  const uint64_t made_in_ = fork_generation();
};

}  // namespace swath
