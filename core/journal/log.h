// Records of what was there before a file was changed: in a journal on the medium, or in memory.
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
  kStart = 0,       // which file the records are of (Start)
  kBytes = 1,       // bytes of the file at `place`
  kAdded = 2,       // the name of a file or folder that was added to a store
  kReplaced = 3,    // the name, `place` bytes long, of a file of a store, and then what that held
  kMark = 4,        // the file was `place` bytes long
  kCheckpoint = 5,  // the same; what comes before it stays, unless the machine has stopped since. The boot's identity
};

struct Record {
  RecordKind kind = RecordKind::kStart;
  int64_t place = 0;
  std::string data;
};

// What it takes in a journal.
int64_t bytes_in_journal(const Record& record);

// Where a whole record lies in a log.
struct RecordPosition {
  RecordKind kind = RecordKind::kStart;
  int64_t place = 0;
  int64_t at = 0;
  int64_t data_bytes = 0;
};

// One record behind the other; where they lie is a number, which is 0 of the first. For one thread at a time. What the
// system refuses is thrown as Error{kStore}.
class LogRecords {
 public:
  virtual ~LogRecords() = default;

  // None where no whole record lies there.
  virtual std::optional<Record> read(int64_t at) const = 0;
  // Of the whole records from there on, the first one first; none of those behind a torn one.
  virtual std::vector<RecordPosition> places(int64_t since) const = 0;
};

// Records that are added, and forgotten.
class ChangeLog : public LogRecords {
 public:
  // Appends all of the records, or none; with `sync` they are on the medium then.
  virtual void append(std::span<const Record> records, bool sync) = 0;
  // Which file holds them; none where they are in memory.
  virtual std::optional<FileIdentity> identity() const = 0;
  // Behind the last record.
  virtual int64_t end() const = 0;
  // Forgets the records from there on.
  virtual void cut(int64_t end) = 0;
  // Keeps only what the file goes back to its last commit by, and `checkpoint`. False where that could not be done.
  virtual bool shorten(int64_t committed_size, const Record& checkpoint) = 0;
  // Lets go of it.
  virtual void close() noexcept = 0;
};

// So many bytes of a journal from a place on; fewer at its end.
using ReadJournal = std::function<std::string(int64_t bytes, int64_t at)>;
// The record at a place of a journal that is so long; none where no whole record lies there.
std::optional<Record> record_in_journal(int64_t journal_bytes, int64_t at, const ReadJournal& read);
// The places of the whole records of a log that is a journal (ChangeLog::places).
std::vector<RecordPosition> places_in_journal(const LogRecords& log, int64_t since);

// Of a file that a kill destroys anyway: it has no name yet.
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

// In a file, which is locked as long as this lives.
class JournalLog : public ChangeLog {
 public:
  // `of`: the file that the records are of, for messages.
  JournalLog(std::string of, std::unique_ptr<OwnFile> file);
  ~JournalLog() override { JournalLog::close(); }

  void append(std::span<const Record> records, bool sync) override;
  std::optional<FileIdentity> identity() const override;
  int64_t end() const override;
  std::optional<Record> read(int64_t at) const override;
  std::vector<RecordPosition> places(int64_t since) const override;
  void cut(int64_t end) override;
  // By a new journal, which is on the medium before it gets the name. A kill at any time leaves the one or the other,
  // and whoever locks the name next removes what is left aside.
  bool shorten(int64_t committed_size, const Record& checkpoint) override;
  // Unlocks it, and removes it where it holds nothing; in a forked child it stays as it is.
  void close() noexcept override;

  // Lets those who may read the file see whether its journal is of a process that lives.
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
