// Files in shared memory by which one user's processes on a node communicate, and checks of their owner.
//
// /dev/shm is writable by all users: another user may create a file, link or folder first under any predictable name.
// So all files are in a folder of the user's own, /dev/shm/swath-UID (or $SWATH_SHM_DIR), with mode 0700. The folder
// and each file are checked through their open descriptors: the owner, the permissions, and that it is a regular file
// with one name. If a check fails, there is no shared memory, with a reason.
//
// The folder has two kinds of files:
//   tables    are locked (flock) by every process that uses them; the last one removes them
//   windows   have a name only while the ranks of a node attach; the name shows which process made them
// A killed process leaves its files behind. The next process that opens the folder for the first time removes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace swath {

class SharedFolder {
 public:
  // The user's folder, created if needed. Null if it is not available, or not the user's alone: `reason` says which,
  // and what to do.
  static std::shared_ptr<const SharedFolder> open(std::string& reason);

  const std::string& path() const { return path_; }

  // Creates a file. Not open, with errno, if that fails.
  Descriptor create(const std::string& name) const;
  // Opens an existing file of this user. Not open if it does not exist (errno: ENOENT), or fails the checks: `reason`.
  Descriptor open_file(const std::string& name, std::string& reason) const;
  // The same, and creates the file if needed.
  Descriptor open_or_create(const std::string& name, std::string& reason) const;
  void remove(const std::string& name) const;
  // Removes the file of this name if only the caller's open `file` holds a lock on it. Returns whether it did.
  bool remove_if_unheld(const Descriptor& file, const std::string& name) const;

  std::vector<std::string> tables() const;
  static std::string table_name(const std::string& what) { return kTablePrefix + what; }
  // An unpredictable name for a window of this process. Empty, with errno, if the kernel has no random numbers.
  static std::string new_window_name();

 private:
  static constexpr const char* kTablePrefix = "table-";
  static constexpr const char* kWindowPrefix = "window-";

  SharedFolder(std::string path, Descriptor folder) : path_(std::move(path)), folder_(std::move(folder)) {}

  Descriptor open_trusted(const std::string& name, int flags, std::string& reason) const;
  std::vector<std::string> names(const std::string& prefix) const;
  void sweep() const;

  const std::string path_;
  const Descriptor folder_;
};

// Locks a file: for one process, or shared. Neither waits; false if another process has a conflicting lock. Changing
// between the two unlocks for a moment, in which the file may be removed.
bool hold_alone(const Descriptor& file);
bool hold_with_others(const Descriptor& file);
// True if the open file still has a name.
bool has_name(const Descriptor& file);

}  // namespace swath
