// An open file of all its ranks, of any format, whichever door has opened it: its arrays, how they grow by records, the
// changes of what it holds, and its end. DataFile (C++, C, Fortran) and OpenedFile (Python) each hold one, and add what
// their callers say and are told.
//
// What a file holds is read and changed by rank 0, which tells the other ranks. Errors of collective calls are thrown
// on all ranks alike. Of several threads of one process each change is done by one after the other, and it is not
// interrupted from its first byte to its last.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/file.h"
#include "array/learning.h"
#include "base/per_process.h"
#include "comm/comm.h"
#include "files/file_changes.h"
#include "files/records.h"
#include "files/staleness.h"
#include "files/stored_array.h"
#include "formats/attribute.h"
#include "formats/contents.h"
#include "formats/description.h"
#include "formats/format.h"
#include "formats/new_array.h"
#include "formats/raw_elements.h"
#include "store/atomic_file.h"
#include "store/open_mode.h"

namespace swath {

class CollectiveFile {
 public:
  struct Options {
    std::string path;        // where it is now
    std::string final_path;  // the name that it has, or will have
    int64_t number = 0;      // of the opening: what is open twice has two states
    OpenMode mode = OpenMode::kRead;
    FileOptions how = {};  // what moves its bytes
    std::shared_ptr<Learning> learning = nullptr;
    std::optional<formats::RawElements> raw = std::nullopt;  // what a raw file holds
    std::shared_ptr<AtomicFile> new_file = nullptr;          // that has not got its name yet
    std::optional<formats::Contents> contents =
        std::nullopt;        // none: it is open for one array, and that alone was read
    bool minds_name = true;  // changes and writes are refused once another file has its name
  };

  // Local: opens nothing yet. open_bytes() is next.
  CollectiveFile(std::shared_ptr<Comm> comm, const formats::Format& format, Options options);
  ~CollectiveFile();
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;

  // Local, on every rank: opens what moves its bytes.
  void open_bytes();

  Comm& comm() const { return *comm_; }
  const formats::Format& format() const { return format_; }
  const std::string& path() const { return changes_->path(); }
  const std::string& final_path() const { return options_.final_path; }
  int64_t number() const { return options_.number; }
  bool is_new() const { return new_file_ != nullptr; }
  bool is_closed() const { return is_closed_; }
  const std::shared_ptr<File>& file() const { return file_; }
  const std::shared_ptr<FileChanges>& changes() const { return changes_; }
  // None where it is open for one array.
  std::optional<formats::Contents>& contents() { return options_.contents; }
  // What the operations of its arrays teach, from now on.
  void learn(std::shared_ptr<Learning> learning) { options_.learning = std::move(learning); }
  // What ranks compare of a call.
  std::string words(const std::string& doing) const;
  std::string identity_of(const formats::Description& description) const;
  PerProcess<std::recursive_mutex>& changing() { return changing_; }

  // ---- What may be done. Local; each throws where it may not. `doing`: "append to".
  void refuse_closed(const std::string& doing) const;
  void refuse_changing(const std::string& doing) const;
  void refuse_writing(const std::string& doing) const;

  // ---- Its arrays, which it knows, and does not hold. Local, on every rank.
  std::shared_ptr<StoredArray> make_array(const formats::Description& description, bool is_new);
  // Of an array that the caller describes. Of `given` the file adds the learning and who gives chunks places.
  std::shared_ptr<StoredArray> make_array(Array::Options given, StoredArray::Known known);
  std::vector<std::shared_ptr<StoredArray>> arrays() const;
  // Elements of an array are about to be written, or were.
  void note_written(const StoredArray& array);

  // ---- Changes of what it holds. Collective. Arrays that a change has moved know where they are then.
  // `words`: what ranks compare of the call. `make` makes what is added, or the attributes, on rank 0 alone.
  // Adds an array, with the dimensions that it is the first to have; it is as long as those that the file has.
  // contents() has it then. Throws Error{kArgument}, and {kStore} with EEXIST; the file is then as it was.
  formats::Description add(const std::string& words, const std::function<formats::NewArray()>& make);
  // Adds or replaces attributes of the file (""), a group or a variable; null removes one. contents() has them not.
  void set_attributes(const std::string& words, const std::string& holder,
                      const std::function<formats::Attributes()>& make);
  // Gives all elements of an array a place; a write of it does so, and has it alone.
  Array::Stored allocate(StoredArray& array);
  // A new array grows: the next record of it is the first that is not synced yet. add() has done so.
  void begin_records(const std::string& variable);

  // ---- Records. Collective.
  // How many rows an array has. `check`: what else may refuse it, on every rank. Throws Error{kArgument} where it does
  // not grow.
  int64_t rows_to_append_to(const StoredArray& array, const std::function<void()>& check = nullptr);
  struct Appending {
    bool writes_all = true;                 // the ranks together write every element of the rows
    std::function<void()> check = nullptr;  // see rows_to_append_to()
  };
  struct Rows {
    StoredArray* array = nullptr;
    int64_t records = 1;
  };
  // Gives arrays room for their next rows, and has `write` write them; `first`: the first new row of each. Where that
  // throws an Error, which all ranks throw, the arrays are as long as before; anything else leaves the room.
  void append(const std::vector<Rows>& rows, const Appending& appending,
              const std::function<void(const std::vector<int64_t>& first)>& write);
  // Local. How many rows a variable has for this handle; none where it does not grow, or has not yet.
  std::optional<int64_t> known_rows(const std::string& variable) const;
  // Local. The dimensions that are longer since this was asked last, and how long.
  std::map<std::string, int64_t> take_new_lengths();

  // ---- Sync and close. Collective.
  void finish_started() const;
  // What was written is on the medium, and changes stay; a new file that grows gets its name.
  void sync();
  // The parts of close(), in this order. Every dimension has all rows that any variable has.
  void complete_records();
  // Waits until nobody uses an array of it. False: it was closed meanwhile.
  bool stop();
  // Local. Throws Error{kStore} where what was written since the last sync is in a file that has lost its name.
  void refuse_lost_writes() const;
  // The file is on the medium, under its name.
  void complete();
  // Local. Removes a file that is not complete, or takes back what was added to one that exists.
  void take_back();
  void release();

 private:
  // What rank 0 says after a change of what the file holds.
  struct Placed {
    std::vector<std::byte> result;             // of whoever made the change
    std::vector<formats::Description> others;  // arrays that are open, and that the change has moved
    bool is_other_file = false;                // the name is another file's now, with more in it

    std::vector<std::byte> serialise() const;
  };

  Records& records();
  template <typename Work>
  auto of_records(const Work& work) {
    Records& all = records();
    const std::lock_guard guard(knowing_.get());
    return work(all);
  }
  formats::Contents& listed();
  // What `work` returns on rank 0, where it changes the file.
  std::vector<std::byte> change(const std::string& words,
                                const std::function<std::vector<std::byte>(formats::FormatFile&)>& work);
  formats::Description add_on_first(formats::FormatFile& file, const formats::NewArray& array);
  std::shared_ptr<StoredArray> array_called(const std::string& variable) const;
  std::vector<std::string> open_arrays_along_later(const std::string& dimension) const;
  void refuse_stale(formats::FormatFile& file, OwnRows own) const;
  std::vector<formats::Description> described_again(formats::FormatFile& file) const;
  void extend(StoredArray& array, int64_t rows, std::optional<int64_t> written_from, const std::string& words);
  void take_back_rows(const std::vector<Rows>& rows, const std::vector<int64_t>& first, size_t begun);
  void wrote(const std::string& variable, int64_t rows);
  void set_length(const std::string& dimension, int64_t rows);
  void fill_rows(const std::string& variable, int64_t rows);
  std::shared_ptr<StoredArray> array_to_fill(const std::string& variable);
  void take(const std::vector<std::byte>& placed);
  void fill_unwritten() const;
  void finish();
  void sync_bytes();
  void give_name();

  const std::shared_ptr<Comm> comm_;
  const formats::Format& format_;
  Options options_;
  std::shared_ptr<AtomicFile> new_file_;
  std::shared_ptr<File> file_;
  std::shared_ptr<FileChanges> changes_;
  PerProcess<std::recursive_mutex> changing_;  // of one change after the other
  std::atomic<bool> is_closed_ = false;
  std::atomic<bool> has_written_ = false;    // elements, since the last sync
  std::optional<formats::Contents> listed_;  // of a file that is open for one array, once it has grown
  mutable PerProcess<std::mutex> knowing_;   // guards what follows
  std::map<std::string, std::weak_ptr<StoredArray>> arrays_;
  std::optional<Records> records_;  // once something grows
  std::map<std::string, int64_t> new_lengths_;
};

}  // namespace swath
