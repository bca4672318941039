// A file whose metadata HDF5's library changes: the journal keeps the bytes that the library overwrites.
//
// If a write fails, HDF5 keeps the file open and locked, its metadata refer to chunks that do not exist, and it may
// crash later. So the library does not see the failure: its later writes are dropped, it closes the file, and then the
// change is undone. Writes outside of a change are dropped, too: at the end of a change all of it is in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/fork.h"
#include "formats/hdf5/driver.h"
#include "journal/changes.h"

namespace swath::formats::hdf5 {

class JournalledFile final : public DriverFile {
 public:
  // Opens the file that `changes` belongs to. Throws Error{kStore}.
  explicit JournalledFile(Changes& changes);
  ~JournalledFile() override;

  // Begins a change: locks the file as HDF5 locks files. Returns false if another program has the file open, and may
  // change it.
  bool begin();
  // Does the delayed writes. Never throws: see failure().
  void flush() noexcept;
  // Ends the change: later writes are dropped. The file stays locked.
  void end() noexcept;
  // Lets other programs read the file. Returns false if another program locked it in between, and may have changed it.
  bool allow_readers() noexcept;
  // The change failed: later writes are dropped.
  void give_up() noexcept { is_changing_ = false; }
  // Restores the content of the file at the begin of the change.
  void undo();
  // The error of the first failed write of this change; later writes were not done.
  const std::optional<Error>& failure() const { return failure_; }

  // A write from this address is not done, because the caller writes the bytes later: this only allocates a chunk.
  // Null: all writes are done.
  void set_blank(const void* blank) { blank_ = blank; }
  // The ranges of such writes since the last call.
  std::vector<KeptRange> take_blank_ranges() { return std::exchange(room_, {}); }

  bool read(int64_t offset, std::span<std::byte> target) noexcept override;
  void write(int64_t offset, std::span<const std::byte> data) noexcept override;
  void truncate(int64_t bytes) noexcept override;
  int64_t size() const noexcept override { return size_; }
  int* descriptor() noexcept override { return &number_; }

 private:
  bool is_written_to() const { return is_changing_ && !failure_ && made_in_ == fork_generation(); }
  template <typename Work>
  void attempt(const Work& work) noexcept;
  void mark();
  void write_held();
  void reserve(KeptRange range);
  bool is_held(int64_t offset, int64_t bytes) const;

  Changes& changes_;
  const uint64_t made_in_ = fork_generation();
  Descriptor file_;
  int number_ = -1;  // the descriptor
  bool is_changing_ = false;
  int64_t size_before_ = 0;  // at the begin of the change
  int64_t size_ = 0;         // as the library sees it
  std::optional<Mark> mark_;
  std::optional<Error> failure_;
  // Delayed writes over old bytes: one sync of the journal comes before all of them.
  std::vector<std::pair<int64_t, std::string>> held_;
  int64_t held_bytes_ = 0;
  std::vector<KeptRange> reserved_;  // ranges of old bytes that the caller overwrites after the change
  const void* blank_ = nullptr;
  std::vector<KeptRange> room_;
};

}  // namespace swath::formats::hdf5
