// A file of any format that several ranks have open together: its arrays, how arrays grow by records, changes of the
// file's contents, sync and close. DataFile (C++, C, Fortran) and OpenedFile (Python) are the public interfaces; each
// holds one CollectiveFile.
//
// Rank 0 reads and changes the file's contents, and broadcasts the result. Collective calls throw the same error on all
// ranks. Threads of one process make their changes one after another. A change that has begun is not interrupted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
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
    std::string path;        // the file's current path
    std::string final_path;  // the path once the file is complete
    int64_t number = 0;      // number of this opening: two openings of one file have separate states
    OpenMode mode = OpenMode::kRead;
    FileOptions how = {};  // options of the engines that move its bytes
    std::shared_ptr<Learning> learning = nullptr;
    std::optional<formats::RawElements> raw = std::nullopt;  // shape and type of a raw file's elements
    std::shared_ptr<AtomicFile> new_file = nullptr;          // null unless the file is being made
    std::optional<formats::Contents> contents =
        std::nullopt;        // none: opened for one array, and only that array was described
    bool minds_name = true;  // refuse changes and writes once another file has its name
  };

  // Local. Does not open the file: call open_bytes() next.
  CollectiveFile(std::shared_ptr<Comm> comm, const formats::Format& format, Options options);
  ~CollectiveFile();
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;

  // Local, called on every rank. Opens the file for the engines that move its bytes.
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
  // None if the file was opened for one array.
  std::optional<formats::Contents>& contents() { return options_.contents; }
  // Sets what arrays made from now on report their measurements to.
  void learn(std::shared_ptr<Learning> learning) { options_.learning = std::move(learning); }
  // The text by which ranks check that they make the same call.
  std::string words(const std::string& doing) const;
  std::string identity_of(const formats::Description& description) const;
  PerProcess<std::recursive_mutex>& changing() { return changing_; }

  // ---- Checks. Local; each throws if the operation is not allowed. `doing` is for the message: "append to".
  void refuse_closed(const std::string& doing) const;
  void refuse_changing(const std::string& doing) const;
  void refuse_writing(const std::string& doing) const;

  // ---- Arrays. The file keeps weak references to them. Local, called on every rank.
  std::shared_ptr<StoredArray> make_array(const formats::Description& description, bool is_new);
  // Makes an array that the caller describes. The file adds `learning` and `allocator` to `given`.
  std::shared_ptr<StoredArray> make_array(Array::Options given, StoredArray::Known known);
  std::vector<std::shared_ptr<StoredArray>> arrays() const;
  // Notes that elements of an array were written, or are about to be.
  void note_written(const StoredArray& array);

  // ---- Changes of the file's contents. Collective. If a change moves other arrays, open arrays get their new offsets.
  // `words`: the text by which ranks check that they make the same call. `make` returns the new array, or the
  // attributes; only rank 0 calls it.
  //
  // Adds an array, and those of its dimensions that the file does not have yet. Along existing dimensions it gets their
  // lengths. Updates contents(). Throws Error{kArgument}, and {kStore} with EEXIST; the file is then unchanged.
  formats::Description add(const std::string& words, const std::function<formats::NewArray()>& make);
  // Adds or replaces attributes of the file (""), a group or a variable; null removes one. Does not update contents().
  void set_attributes(const std::string& words, const std::string& holder,
                      const std::function<formats::Attributes()>& make);
  // Allocates space in the file for all elements of an array. A write of the array calls it while no other change is
  // made.
  Array::Stored allocate(StoredArray& array);
  // Prepares a new growing array for append: its next record is the first that is not synced yet. add() calls it.
  void begin_records(const std::string& variable);

  // ---- Records. Collective.
  // The number of rows of an array. `check`: an additional check, called on every rank, that may throw. Throws
  // Error{kArgument} if the array cannot grow.
  int64_t rows_to_append_to(const StoredArray& array, const std::function<void()>& check = nullptr);
  struct Appending {
    bool writes_all = true;                 // the ranks together write every element of the rows
    std::function<void()> check = nullptr;  // see rows_to_append_to()
  };
  struct Rows {
    StoredArray* array = nullptr;
    int64_t records = 1;
  };
  // Makes room for the next rows of arrays, and calls `write` to write them; `first`: the first new row of each array.
  // If all ranks throw an Error, the arrays get their former lengths back. After any other exception the room stays.
  void append(const std::vector<Rows>& rows, const Appending& appending,
              const std::function<void(const std::vector<int64_t>& first)>& write);
  // Local. The number of rows of a variable, as this handle counts them; none if it cannot grow, or no rows were
  // counted yet.
  std::optional<int64_t> known_rows(const std::string& variable) const;
  // Local. The new lengths of dimensions that have grown since the last call.
  std::map<std::string, int64_t> take_new_lengths();

  // ---- Sync and close. Collective.
  void finish_started() const;
  // Puts written data on the medium, and makes changes permanent. A new file with growing arrays gets its name.
  void sync();
  // The steps of closing, in this order. First: extend all variables to the longest one along their dimension.
  void complete_records();
  // Waits until no operation uses the file's arrays. False: another thread has closed the file meanwhile.
  bool stop();
  // Local. Throws Error{kStore} if elements were written since the last sync, and another file has the name now.
  void refuse_lost_writes() const;
  // Puts the file on the medium, and gives it its name.
  void complete();
  // Local. Removes a new file, or undoes the changes of an existing one since the last sync.
  void take_back();
  void release();

 private:
  // What rank 0 broadcasts after a change of the file's contents.
  struct Changed {
    std::vector<std::byte> result;             // returned by the function that made the change
    std::vector<formats::Description> others;  // new descriptions of open arrays, if the change has moved them
    bool is_other_file = false;                // the change has written a new file and renamed it to this name

    std::vector<std::byte> serialise() const;
    static Changed parse(std::span<const std::byte> bytes);
  };

  Records& records();
  template <typename Work>
  auto of_records(const Work& work) {
    Records& all = records();
    const std::lock_guard guard(knowing_.get());
    return work(all);
  }
  formats::Contents& listed();
  // Calls `work`, which changes the file, on rank 0. Returns its result on all ranks.
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
  // Local, called on every rank: opens the other file, and tells open arrays their new descriptions.
  void apply(Changed& changed);
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
  PerProcess<std::recursive_mutex> changing_;  // held during a change: one at a time
  std::atomic<bool> is_closed_ = false;
  std::atomic<bool> has_written_ = false;    // elements were written since the last sync
  std::optional<formats::Contents> listed_;  // read at the first append, if the file was opened for one array
  mutable PerProcess<std::mutex> knowing_;   // guards the members below
  std::map<std::string, std::weak_ptr<StoredArray>> arrays_;
  std::optional<Records> records_;  // made at the first append
  std::map<std::string, int64_t> new_lengths_;
};

}  // namespace swath
