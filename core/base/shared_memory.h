// Who owns a file in shared memory: the files by which processes of one user on one node find each other.
//
// /dev/shm is everybody's: another user may be first with a file, a link or a folder under any name that can be told
// beforehand. So all lie in one folder of the user's own, /dev/shm/swath-UID (or $SWATH_SHM_DIR), of mode 0700. The
// folder, and every file in it, is looked at by its open descriptor before it is trusted: whose it is, who else may use
// it, whether it is a plain file with one name. Otherwise there is no shared memory here, with a reason.
//
// Two kinds of files lie there:
//   tables    are held (flock) by every process that uses them; the last one removes them
//   windows   have a name only while the ranks of a node attach; it tells which process made them
// A process that is killed leaves its own behind. They are removed by the next that opens the folder for the first
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace swath {

class SharedFolder {
 public:
  // The user's folder, made where there is none. Null where it cannot be had, or is not the user's alone: `reason` says
  // which, and what to do.
  static std::shared_ptr<const SharedFolder> open(std::string& reason);

  const std::string& path() const { return path_; }

  // A new file of ours. Not open, with errno, where that cannot be had.
  Descriptor create(const std::string& name) const;
  // A file that is there already, of ours alone. Not open where there is none (errno: ENOENT), or it cannot be trusted:
  // `reason`.
  Descriptor open_file(const std::string& name, std::string& reason) const;
  // The same, made where there is none.
  Descriptor open_or_create(const std::string& name, std::string& reason) const;
  void remove(const std::string& name) const;
  // Of a file that is held by nobody but the caller's `file`, open under this name: removed. Whether it was.
  bool remove_if_unheld(const Descriptor& file, const std::string& name) const;

  std::vector<std::string> tables() const;
  static std::string table_name(const std::string& what) { return kTablePrefix + what; }
  // Of a window to be made by this process; nobody can tell it beforehand. Empty, with errno, where the kernel has no
  // random numbers.
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

// Holding a file: by one process alone, or by several. Neither waits; false where others hold it otherwise. Going from
// one to the other lets go for a moment, in which the file may lose its name.
bool hold_alone(const Descriptor& file);
bool hold_with_others(const Descriptor& file);
// Whether the open file can still be found by a name.
bool has_name(const Descriptor& file);

}  // namespace swath
