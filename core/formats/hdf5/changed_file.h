// An HDF5 file that is changed through a journal: each change is made as a whole, or not at all.
//
//     ChangedFile file(path, changes);
//     file.change([&](const OpenFile& open) { … });      // by the library's calls; what they open is closed in the end
//
// The library has the file open once, from the first change on until this goes. When change() returns, all that the
// library changed is in the file, kept by the journal: others can read it, and may write elements at the places that it
// gave. Between two changes the file is locked as HDF5 locks one that is read; where elements are to be written that it
// gave room for, as one that is written, so that no other program reads what is not there yet.
//
// A file whose superblock says of itself that it is open for writing (version 3) is closed after each change: it would
// say so of a process that was killed, too.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/fork.h"
#include "formats/format.h"
#include "formats/hdf5/calls.h"
#include "formats/hdf5/driver.h"
#include "formats/hdf5/journalled_file.h"
#include "formats/hdf5/objects.h"
#include "journal/changes.h"

namespace swath::formats::hdf5 {

class ChangedFile {
 public:
  enum class Start { kExisting, kEmpty };  // kEmpty: the first change makes an HDF5 file of one without any bytes

  // Opens nothing yet. `changes` outlives this.
  explicit ChangedFile(Changes& changes, Start start = Start::kExisting);
  ~ChangedFile();
  ChangedFile(const ChangedFile&) = delete;
  ChangedFile& operator=(const ChangedFile&) = delete;

  const std::string& path() const { return changes_.path(); }
  Changes& changes() { return changes_; }

  // Waits (LockWait) where another program has the file open. Throws Error{kStore}: the system refuses, or another
  // program still has the file open then; and what `work` throws. The file is then what it was.
  void change(const FileWork& work);
  // In change(): elements of a variable are written next where it gave room. Until then no other program may read the
  // file.
  void expect(Room room, const std::string& variable);
  // They are written, or their room is taken away.
  void written(Room room, const std::string& variable);
  void read(const FileWork& work);
  // In change(): the file as it is written to.
  JournalledFile& stored() { return *stored_; }
  // Others have made the file what it was before: it is opened anew when it is changed next.
  void drop();

 private:
  void open();
  bool try_change(const std::string& doing, const FileWork& work);
  void make_change(const std::string& doing, const FileWork& work);
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
};

}  // namespace swath::formats::hdf5
