// The changes of one open file, on rank 0: the journal that takes them back, what the file holds as it is open by that
// journal, and what tells whether others have changed the file meanwhile. Every door changes files through one of
// these.
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

// For any thread. A call waits for those of other threads, and is not interrupted.
class FileChanges {
 public:
  struct Options {
    bool is_new = false;  // it has no name yet: nobody else changes it, and after a kill nobody misses it
    std::optional<formats::RawElements> raw = std::nullopt;  // what a raw file holds
    // Compares the file with what its handle knows of it, when the first change begins: refuse_stale(). It is given
    // what is known of room. None: nothing is compared.
    std::function<void(formats::FormatFile& file, OwnRows own)> refuse_stale = nullptr;
  };

  FileChanges(const formats::Format& format, std::string path, Options options);
  // Takes back what was changed since the last checkpoint or commit.
  ~FileChanges();
  FileChanges(const FileChanges&) = delete;
  FileChanges& operator=(const FileChanges&) = delete;

  const std::string& path() const { return path_; }
  // Whether this process is a child of the one that opened the file, and has no part in its changes.
  bool is_forked() const { return made_in_ != fork_generation(); }

  // Notes which file has the name: what is opened by it next.
  void note_name(const std::string& path) { open_name_.emplace(std::filesystem::absolute(path)); }
  // Whether another file has the name since. Of a name that was not noted nothing is said.
  bool is_replaced() const { return open_name_ && open_name_->is_replaced(); }
  // Throws Error{kStore} with ESTALE where it is. `doing`: "write", "append to".
  void refuse_replaced(const std::string& doing) const;

  // Calls `work` with what the file holds, as it is read.
  template <typename Work>
  auto read(const Work& work) {
    const std::lock_guard one_at_a_time(in_use_.get());
    return work(file_to_read());
  }
  // The same with the file open to be changed. Throws Error{kStore} where another program changes it, or has changed
  // it since it was opened, or has given its name to another file.
  template <typename Work>
  auto change(const Work& work, const std::string& doing = "change") {
    const OneChange one_change(in_use_);
    return work(file_to_change(doing));
  }
  // A change whose elements are written next: FormatFile::extend(). Gaps between what is written can be read then.
  formats::Description extend(const std::string& variable, int64_t rows, std::optional<int64_t> written_from);
  // FormatFile::allocate(). It stays after a kill, unless something else was changed that does not.
  formats::Description allocate(const std::string& variable);
  // FormatFile::written(), where anything was changed.
  void written(formats::Room room, const std::string& variable);

  // What the last change has moved. Once.
  struct Moved {
    bool others = false;  // elements of other variables
    bool file = false;    // the name is another file's now, with more in it, which this is of from now on
  };
  Moved moved();

  // Whether there are changes that are not ended yet.
  bool has_begun();
  Mark mark();
  // What was changed stays after a kill, too.
  void checkpoint();
  // The same unless what the file holds has changed since the last sync: that stays as a whole or not at all.
  void checkpoint_written();
  // What was changed stays: it is on the medium.
  void commit();
  // The same, and whoever wants to may change the file now.
  void end();
  // Makes the file what it was then; without a mark: at the last checkpoint or commit.
  void undo(const std::optional<Mark>& mark);
  // The same, unless the file is to be removed, or another one has its name.
  void take_back();
  // Takes back what was changed since the last checkpoint or commit, and releases the file.
  void close();
  // A new file has its name: it is changed as others are from now on.
  void has_name(const std::string& path);

  // Whether what the file holds has changed since the last sync. Of every rank.
  bool has_changed() const { return has_changed_; }
  void note_changed() { has_changed_ = true; }
  void note_synced() { has_changed_ = false; }
  // The file is open already, to be read.
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
  std::map<std::string, int64_t> given_room_;  // by variable: the rows that it was given room for
  bool has_changed_ = false;
};

}  // namespace swath
