// The changes of one open file, on rank 0: the undo journal, the file as the format opens it with that journal, and the
// check that no other program has changed the file since it was opened. All interfaces change files through this class.
//
//     changes.change([&](formats::FormatFile& file) { return file.add(array); });   // the first one begins the journal
//     changes.commit();
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/fork.h"
#include "base/per_process.h"
#include "files/one_change.h"
#include "files/open_name.h"
#include "files/staleness.h"
#include "formats/format.h"
#include "formats/raw_elements.h"
#include "journal/changes.h"

namespace swath {

// Any thread may call it. Calls run one at a time, and are not interrupted.
class FileChanges {
 public:
  struct Options {
    bool is_new = false;  // no name yet: no other program changes it, and nothing is undone after a kill
    std::optional<formats::RawElements> raw = std::nullopt;  // shape and type of a raw file's elements
    // Called when the first change begins: throws if the file differs from what its handle has read, as refuse_stale()
    // does. `own` comes with `given_room` set. None: no check.
    std::function<void(formats::FormatFile& file, OwnRows own)> refuse_stale = nullptr;
  };

  FileChanges(const formats::Format& format, std::string path, Options options);
  // Undoes the changes since the last checkpoint or commit.
  ~FileChanges();
  FileChanges(const FileChanges&) = delete;
  FileChanges& operator=(const FileChanges&) = delete;

  const std::string& path() const { return path_; }
  // True in a forked child of the process that opened the file: the child must not change it.
  bool is_forked() const { return made_in_ != fork_generation(); }

  // Notes the device and inode that the name has now, before the file is opened by it.
  void note_name(const std::string& path) { open_name_.emplace(std::filesystem::absolute(path)); }
  // True if another file has the name now. False if note_name() was not called.
  bool is_replaced() const { return open_name_ && open_name_->is_replaced(); }
  // Throws Error{kStore} with ESTALE if is_replaced(). `doing` is for the message: "write", "append to".
  void refuse_replaced(const std::string& doing) const;

  // Calls `work` with the open file, for reading.
  template <typename Work>
  auto read(const Work& work) {
    const std::lock_guard one_at_a_time(in_use_.get());
    return work(file_to_read());
  }
  // The same for changing the file; the first change begins the journal. Throws Error{kStore} if another program is
  // changing the file, has changed it since it was opened, or has given its name to another file.
  template <typename Work>
  auto change(const Work& work, const std::string& doing = "change") {
    const OneChange one_change(in_use_);
    return work(file_to_change(doing));
  }
  // FormatFile::extend(), for elements that are written next. Also extends the file, so that gaps between writes can be
  // read.
  formats::Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from);
  // FormatFile::allocate(). It survives a kill, unless the contents have changed since the last sync.
  formats::Description allocate(const std::string& variable);
  // FormatFile::written(), if a change has begun.
  void written(formats::Room room, const std::string& variable);

  // What the last change has moved. To be called once after a change.
  struct Moved {
    bool others = false;  // elements of other variables have moved
    bool file = false;    // the change has written a new file under this name, which is used from now on
  };
  Moved moved();

  // Writes changes that the format still has in memory into the file.
  void write_delayed();
  // True if a journal is open: changes have begun, and end() or close() was not called.
  bool has_begun();
  Mark mark();
  // The changes so far survive a kill.
  void checkpoint();
  // The same, unless the contents have changed since the last sync: these changes become permanent together, at the
  // next commit.
  void checkpoint_written();
  // Makes the changes permanent: they are on the medium.
  void commit();
  // The same, and releases the file, so that other programs may change it.
  void end();
  // Restores the file as it was at the mark; without a mark, at the last checkpoint or commit.
  void undo(const std::optional<Mark>& mark);
  // undo() to the last checkpoint or commit. Abandons the journal instead for a new file, or if another file has the
  // name.
  void take_back();
  // Undoes the changes since the last checkpoint or commit, and releases the file.
  void close();
  // To be called when a new file got its name: from now on it is changed as an existing file is.
  void has_name(const std::string& path);

  // True if the contents have changed since the last sync. Known on every rank.
  bool has_changed() const { return has_changed_; }
  void note_changed() { has_changed_ = true; }
  void note_synced() { has_changed_ = false; }
  // Uses a file that was opened for reading before.
  void use(std::unique_ptr<formats::FormatFile> file) { file_ = std::move(file); }

 private:
  formats::FormatFile& file_to_read();
  formats::FormatFile& file_to_change(const std::string& doing);
  void begin();
  void release();

  const formats::Format& format_;
  std::string path_;
  Options options_;
  const uint64_t made_in_ = fork_generation();
  PerProcess<std::recursive_mutex> in_use_;
  std::optional<OpenName> open_name_;
  std::unique_ptr<Changes> journal_;
  std::unique_ptr<formats::FormatFile> file_;  // uses journal_
  std::map<std::string, int64_t> given_room_;  // by variable: the rows for which extend() made room
  bool has_changed_ = false;
};

}  // namespace swath
