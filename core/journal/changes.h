// Changes of a file, or of a folder that is a store. They can be undone until they are committed, also after their
// process was killed. docs/formats/undo-journal.md has the bytes of the journal.
//
//     Changes changes("run.nc", {});
//     const Mark before = changes.mark();
//     changes.keep(descriptor, 0, 512);       // these bytes will be overwritten
//     …                                       // overwrite them
//     changes.undo(before);                   // or commit()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace swath {

// A moment between two changes of a file: the number of commits before it, and a position in the log.
struct Mark {
  int64_t commits = 0;
  int64_t place = 0;
};

struct KeptRange {
  int64_t offset = 0;
  int64_t bytes = 0;
  auto operator<=>(const KeptRange& other) const = default;
};

struct ChangesOptions {
  bool is_durable = true;  // changes can be undone after a kill, too; false for a file that has no name yet
  // the wait for another process that holds the journal's lock: it may only read the journal
  double lock_seconds = 0.25;
  // A checkpoint shortens a journal that is longer than this, and twice as long as after the last time.
  int64_t long_bytes = int64_t{16} << 20;
};

class ChangeLog;

// Any thread may call these functions. A forked child can neither make nor undo changes with the object of its parent.
class Changes {
 public:
  // First undoes the changes of a killed process. Throws Error{kStore} if the system refuses, if another process
  // changes the file (EAGAIN), or if the file with the journal's name is not this user's journal (EPERM).
  Changes(std::string path, const ChangesOptions& options);
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  const std::string& path() const;
  bool is_durable() const;
  // Whether there is something to undo: bytes were kept, or a mark was set, since the last commit.
  bool has_begun() const;

  // Call this before the file grows. Records the length of the file, if nothing was kept since the last commit.
  void begin();
  // Changes after the mark can be undone alone.
  Mark mark();
  // Call this before these bytes are overwritten or cut off.
  void keep(int descriptor, int64_t offset, int64_t bytes);
  // The same for several ranges. If they are small, they together cost as much as one.
  void keep_all(int descriptor, std::span<const KeptRange> ranges);
  // Call this before a file or folder is made; `relative` is its path in the store. Throws Error{kStore} with EEXIST if
  // it exists.
  void adds(const std::string& relative);
  // Call this before files of the store are replaced or added. All files together cost as much as one.
  void replaces_all(std::span<const std::string> relative);
  // The changes before this survive a kill. This does not wait for the medium; commit() does.
  void checkpoint();
  // The changes before this are on the medium, and cannot be undone any more.
  void commit();
  // Restores the content of the file at the mark; changes before a later checkpoint or commit stay.
  void undo(const Mark& mark);
  // Restores the content of the file at the last checkpoint or commit.
  void undo();
  // Undoes the changes since the last checkpoint or commit, and releases the journal. Later calls do nothing.
  void close();
  // Forgets the records, and releases the journal: the file will be removed.
  void abandon();
  // Call this after the failure of a change that cannot be undone: later changes and commits raise an error.
  void lose(const std::string& why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// If no file can be created in the folder of `path`, only this process can undo the changes.
std::unique_ptr<Changes> changes_of(const std::string& path, bool is_durable);

// ".NAME.swath-undo", in the folder of the file itself, not of a link to it.
std::string journal_path(const std::string& path);

// Undoes the changes that a dead process did not commit. Returns false if there are none, or if their process is alive.
// `is_copy`: the file and its journal were copied here together. Throws Error{kStore} if the journal is another user's
// or another file's, if another program has the file open, or if the system refuses.
bool repair(const std::string& path, bool is_copy = false);

// Lets a new file take the name of an old one. It locks the journal that a killed process left; `taken()` empties it.
// Throws Error{kStore} if another process changes the old file, or if another user's process was killed during a
// change.
class Replacing {
 public:
  explicit Replacing(const std::string& path);
  ~Replacing();
  Replacing(const Replacing&) = delete;
  Replacing& operator=(const Replacing&) = delete;
  // Call this when the new file has the name.
  void taken();
  // Releases the journal, as the destructor does.
  void close() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace swath
