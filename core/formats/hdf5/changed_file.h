// An HDF5 file that is changed through a journal: each change is made completely, or not at all.
//
//     ChangedFile file(path, changes);
//     file.change([&](const OpenFile& open) { … });      // calls of the library; all handles are closed afterwards
//
// The library keeps the file open from the first change until this object is destroyed. When change() returns, all
// changes are in the file (change_later() may leave some in memory), and the journal has the old bytes: others can read
// the file, and may write elements at the offsets that it gave. Between two changes the file is locked as HDF5 locks a
// file for reading. While elements must still be written in allocated space, it is locked as for writing, so that no
// other program reads missing elements.
//
// A file whose superblock records that it is open for writing (version 3) is closed after each change: otherwise the
// mark would stay after a kill.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "formats/format.h"
#include "formats/hdf5/calls.h"
#include "formats/hdf5/driver.h"
#include "formats/hdf5/journalled_file.h"
#include "formats/hdf5/objects.h"
#include "formats/hdf5/scales.h"
#include "journal/changes.h"

namespace swath::formats::hdf5 {

class ChangedFile {
 public:
  enum class Start { kExisting, kEmpty };  // kEmpty: the first change makes an HDF5 file of an empty one

  // Opens nothing yet. `changes` must outlive this object.
  explicit ChangedFile(Changes& changes, Start start = Start::kExisting);
  ~ChangedFile();
  ChangedFile(const ChangedFile&) = delete;
  ChangedFile& operator=(const ChangedFile&) = delete;

  const std::string& path() const { return changes_.path(); }
  Changes& changes() { return changes_; }

  // Waits (LockWait) if another program has the file open. Throws Error{kStore} if the system refuses, or if the other
  // program still has the file open; also throws what `work` throws. After an error the file is as it was before.
  void change(const FileWork& work);
  // The same for a change that allocates no space for elements. If the file has no name yet, the library keeps the
  // change in memory, until change() or write_delayed(). If a later change fails, `work` is done again.
  void change_later(const FileWork& work);
  // Writes what change_later() has left in memory. If this fails, the file cannot be completed any more.
  void write_delayed();
  // Call this in change() if the caller will write elements of a variable in space that was allocated. Until then no
  // other program may read the file.
  void expect(Room room, const std::string& variable);
  // Call this when the elements are written, or their space is freed.
  void written(Room room, const std::string& variable);
  void read(const FileWork& work);
  // What is known of the file's dimensions; for use in change().
  DimensionState& dimensions() { return dimensions_; }
  // The stored file, for use in change().
  JournalledFile& stored() { return *stored_; }
  // Call this after an undo: the next change opens the file again.
  void drop();

 private:
  enum class When { kNow, kLater };  // kLater: the library keeps the change in memory

  void open();
  void make_change(const FileWork& work, When when);
  bool try_change(const std::string& doing, const FileWork& work, When when);
  void do_change(const std::string& doing, const FileWork& work, When when);
  void flush();
  void repeat_delayed() noexcept;
  void allow_readers();
  void take_back();
  void refuse_child() const;
  DrivenFile opened_file(unsigned flags) const;

  Changes& changes_;
  const uint64_t made_in_ = fork_generation();
  Start start_;
  bool stays_open_ = true;
  std::set<std::pair<Room, std::string>> expected_;
  std::shared_ptr<JournalledFile> stored_;
  DrivenFile file_;
  std::vector<FileWork> delayed_;  // the changes in memory
  DimensionState dimensions_;
};

}  // namespace swath::formats::hdf5
