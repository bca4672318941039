// Changes of a file, or of a folder that is a store, that can be taken back until they are committed, also after their
// process was killed. docs/formats/undo-journal.md has the bytes of the journal.
//
//     Changes changes("run.nc", {});
//     const Mark before = changes.mark();
//     changes.keep(descriptor, 0, 512);       // bytes that are overwritten next
//     …                                       // overwrite them
//     changes.undo(before);                   // or commit()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace swath {

// A moment between two changes of a file: after so many commits, at this place of the log.
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
  bool is_durable = true;      // changes can be taken back after a kill, too; false: of a file that has no name yet
  double lock_seconds = 0.25;  // to wait for another process that has the journal: it may only look what is in it
  // A journal that is longer, and longer than twice what was left of it then, is written anew at a checkpoint.
  int64_t long_bytes = int64_t{16} << 20;
};

class ChangeLog;

// For any thread. A forked child has no part in the changes of its parent: it can change nothing by them, and takes
// nothing back.
class Changes {
 public:
  // What a killed process left is taken back first. Throws Error{kStore}: the system refuses, another process changes
  // the file (EAGAIN), or somebody has planted something under the journal's name (EPERM).
  Changes(std::string path, const ChangesOptions& options);
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  const std::string& path() const;
  bool is_durable() const;
  // Whether there is something that can be taken back: since the last commit something was kept, or a mark was set.
  bool has_begun() const;

  // Notes how long the file is, where nothing is kept since the last commit: before it grows.
  void begin();
  // From here on what is changed can be taken back alone.
  Mark mark();
  // So many bytes of the file are overwritten, or cut off, next.
  void keep(int descriptor, int64_t offset, int64_t bytes);
  // The same of several ranges, at the price of one where they are small.
  void keep_all(int descriptor, std::span<const KeptRange> ranges);
  // A file or folder, by its path in the store, is made next. Throws Error{kStore} with EEXIST where it is there.
  void adds(const std::string& relative);
  // Files of the store are replaced next; those that are not there yet are added. At the price of one.
  void replaces_all(std::span<const std::string> relative);
  // What was changed stays after a kill, too; waits for no medium, which commit() does.
  void checkpoint();
  // What was changed stays: it is on the medium, and cannot be taken back any more.
  void commit();
  // Makes the file what it was at the mark; what was there at a later checkpoint or commit stays.
  void undo(const Mark& mark);
  // The same: at the last checkpoint or commit.
  void undo();
  // Takes back what was changed since the last checkpoint or commit, and lets go of the file. Once.
  void close();
  // Lets go of the file, which is removed with all that it holds: nothing is taken back.
  void abandon();
  // A change failed that cannot be taken back: the file can neither be changed nor committed any more.
  void lose(const std::string& why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Where nothing may be written beside the file, its changes can be taken back only by this process.
std::unique_ptr<Changes> changes_of(const std::string& path, bool is_durable);

// ".NAME.swath-undo", beside the file itself, not beside a link to it.
std::string journal_path(const std::string& path);

// Takes back what a dead process left uncommitted; false where there is nothing, or its owner lives. `is_copy`: the
// file and its journal were copied here together. Throws Error{kStore} where it may not: the journal is another user's
// or another file's, another program has the file open, or the system refuses.
bool repair(const std::string& path, bool is_copy = false);

// Lets a new file take the name while it lives: a journal that a killed process has left of the old one goes at
// `taken()`. Throws Error{kStore}: another process changes the old file, or another user's was killed while it did.
class Replacing {
 public:
  explicit Replacing(const std::string& path);
  ~Replacing();
  Replacing(const Replacing&) = delete;
  Replacing& operator=(const Replacing&) = delete;
  // The new file has the name.
  void taken();
  // Lets go of the journal, as the destructor does.
  void close() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace swath
