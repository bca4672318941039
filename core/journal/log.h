// Records of the old content of a file that is changed; they are in a journal on the medium, or in memory.
// docs/formats/undo-journal.md has the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "journal/own_file.h"
#include "journal/start.h"

namespace swath {

enum class RecordKind : uint8_t {
  kStart = 0,     // the file that the records belong to (Start)
  kBytes = 1,     // bytes of the file at `place`
  kAdded = 2,     // the name of a file or folder that was added to a store
  kReplaced = 3,  // the name of a file of a store, `place` bytes long, and then the old content of that file
  kMark = 4,      // the file was `place` bytes long
  // the file was `place` bytes long; changes before this stay, if the data are the identity of the current boot
  kCheckpoint = 5,
};

struct Record {
  RecordKind kind = RecordKind::kStart;
  int64_t place = 0;
  std::string data;
};

// The length of a record in a journal.
int64_t bytes_in_journal(const Record& record);

// The position of a complete record in a log.
struct RecordPosition {
  RecordKind kind = RecordKind::kStart;
  int64_t place = 0;
  int64_t at = 0;
  int64_t data_bytes = 0;
};

// A sequence of records; a position is a number, and the first record's is 0. One thread at a time may call these
// functions. An error of the system is thrown as Error{kStore}.
class LogRecords {
 public:
  virtual ~LogRecords() = default;

  // Returns nothing if there is no complete record at this position.
  virtual std::optional<Record> read(int64_t at) const = 0;
  // The positions of the complete records from `since` on, in order. An incomplete record ends the list.
  virtual std::vector<RecordPosition> places(int64_t since) const = 0;
};

// A log to which records can be appended, and from which they can be removed.
class ChangeLog : public LogRecords {
 public:
  // Appends all of the records, or none; if `sync`, the records are on the medium afterwards.
  virtual void append(std::span<const Record> records, bool sync) = 0;
  // The file with the records; nothing if they are in memory.
  virtual std::optional<FileIdentity> identity() const = 0;
  // The position after the last record.
  virtual int64_t end() const = 0;
  // Removes the records from position `end` on.
  virtual void cut(int64_t end) = 0;
  // Keeps only the records that the return to the last commit needs, and `checkpoint`. Returns false if it could not.
  virtual bool shorten(int64_t committed_size, const Record& checkpoint) = 0;
  // Releases the log.
  virtual void close() noexcept = 0;
};

// Reads bytes of a journal at an offset; fewer at its end.
using ReadJournal = std::function<std::string(int64_t bytes, int64_t at)>;
// The record at an offset of a journal of this length; nothing if there is no complete record.
std::optional<Record> record_in_journal(int64_t journal_bytes, int64_t at, const ReadJournal& read);
// The positions of the complete records of a log that is a journal (ChangeLog::places).
std::vector<RecordPosition> places_in_journal(const LogRecords& log, int64_t since);

// The log of a file without a name: a kill destroys the file anyway.
class MemoryLog : public ChangeLog {
 public:
  void append(std::span<const Record> records, bool sync) override;
  std::optional<FileIdentity> identity() const override { return std::nullopt; }
  int64_t end() const override { return static_cast<int64_t>(records_.size()); }
  std::optional<Record> read(int64_t at) const override;
  std::vector<RecordPosition> places(int64_t since) const override;
  void cut(int64_t end) override;
  bool shorten(int64_t, const Record&) override { return false; }
  void close() noexcept override {}

 private:
  std::vector<Record> records_;
};

// A log in a file, which is locked as long as this object lives.
class JournalLog : public ChangeLog {
 public:
  // `of`: the name of the changed file, for messages.
  JournalLog(std::string of, std::unique_ptr<OwnFile> file);
  ~JournalLog() override { JournalLog::close(); }

  void append(std::span<const Record> records, bool sync) override;
  std::optional<FileIdentity> identity() const override;
  int64_t end() const override;
  std::optional<Record> read(int64_t at) const override;
  std::vector<RecordPosition> places(int64_t since) const override;
  void cut(int64_t end) override;
  // Writes a new journal; it is on the medium before it gets the name. After a kill, one of the two journals has the
  // name; the process that locks the journal next removes the other one.
  bool shorten(int64_t committed_size, const Record& checkpoint) override;
  // Unlocks the file, and removes it if it has no records. A forked child leaves the file as it is.
  void close() noexcept override;

  // Users who may read the changed file may read the journal, too, to see whether its process is alive.
  void let_read(uint32_t mode_of_file);

 private:
  void write_shortened(int descriptor, int64_t committed_size, const Record& checkpoint) const;
  void sync();

  const std::string of_;
  const std::unique_ptr<OwnFile> file_;
  const std::string new_path_;
  const uint64_t made_in_ = fork_generation();
  bool has_lasting_name_ = false;
};

}  // namespace swath
