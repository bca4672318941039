// The file of which HDF5's library changes the metadata: what it overwrites is kept by the journal first.
//
// HDF5 keeps a file open, and locked, whose last write failed; its metadata then tell of chunks that are nowhere, and
// later it may crash. So it is told of no failure: what it writes from then on goes nowhere, it closes the file in
// peace, and then the file is made what it was. What it writes when no change is under way goes nowhere either: when a
// change ends, all of it is in the file.
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
  // Opens the file of the changes. Throws Error{kStore}.
  explicit JournalledFile(Changes& changes);
  ~JournalledFile() override;

  // A change begins: the file is locked as HDF5 locks files. False where another program has it open; it may change the
  // file then.
  bool begin();
  // Does the writes that are held back. Never throws: see failure().
  void flush() noexcept;
  // The change ends: what is written from now on goes nowhere. The file stays locked.
  void end() noexcept;
  // Others may read the file. False where another program has locked it meanwhile, and may have changed it.
  bool allow_readers() noexcept;
  // The change failed: what is written from now on goes nowhere.
  void give_up() noexcept { is_changing_ = false; }
  // Makes the file what it was when the change began.
  void undo();
  // Of the first write of this change that failed; those behind it were not done.
  const std::optional<Error>& failure() const { return failure_; }

  // What the library writes from this address on is not written, because somebody else will: so a chunk gets its room.
  // Null: nothing.
  void set_blank(const void* blank) { blank_ = blank; }
  // Where that was, since it was asked last.
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
  int number_ = -1;  // of the descriptor
  bool is_changing_ = false;
  int64_t size_before_ = 0;  // when the change began
  int64_t size_ = 0;         // as the library sees it
  std::optional<Mark> mark_;
  std::optional<Error> failure_;
  // Writes over what is there, which are done together: what they overwrite is synced before, once for all.
  std::vector<std::pair<int64_t, std::string>> held_;
  int64_t held_bytes_ = 0;
  std::vector<KeptRange> reserved_;  // of what was there, that somebody else writes when the change has ended
  const void* blank_ = nullptr;
  std::vector<KeptRange> room_;
};

}  // namespace swath::formats::hdf5
