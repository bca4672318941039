#include "journal/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/crc32.h"
#include "base/error.h"
#include "store/file_calls.h"

namespace swath {
namespace {

// The head of a record: its kind, its place, the length of its data, and the checksum of the whole record.
// Little-endian.
constexpr int64_t kHeadBytes = 1 + 8 + 8 + 4;
constexpr int64_t kKnownBytes = kHeadBytes - 4;

void put_number(std::string& bytes, uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

uint64_t number_at(std::string_view bytes, size_t at, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; ++i) number |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

uint32_t checksum_of(std::string_view known, std::string_view data) {
  constexpr std::string_view kNoChecksum("\0\0\0\0", 4);
  return crc32(data, crc32(kNoChecksum, crc32(known)));
}

std::string head_of(const Record& record) {
  std::string head;
  put_number(head, static_cast<uint64_t>(record.kind), 1);
  put_number(head, static_cast<uint64_t>(record.place), 8);
  put_number(head, record.data.size(), 8);
  put_number(head, checksum_of(head, record.data), 4);
  return head;
}

// A range of bytes, or a name in a store.
using Subject = std::tuple<bool, int64_t, int64_t, std::string>;

Subject subject_of(const Record& record) {
  if (record.kind == RecordKind::kBytes) return {true, record.place, static_cast<int64_t>(record.data.size()), ""};
  const bool has_content = record.kind == RecordKind::kReplaced;
  return {false, 0, 0, has_content ? record.data.substr(0, static_cast<size_t>(record.place)) : record.data};
}

bool has_subject(RecordKind kind) {
  return kind == RecordKind::kBytes || kind == RecordKind::kAdded || kind == RecordKind::kReplaced;
}

// Returns false if the name cannot be checked.
bool has_name(int descriptor, const std::string& path) {
  try {
    return file_calls::has_name(descriptor, path);
  } catch (const Refusal&) {
    return false;
  }
}

// Writes a whole record at the end of the journal. The data may be long: they are not copied.
void write_record(int descriptor, const Record& record) {
  file_calls::write_next(descriptor, head_of(record));
  file_calls::write_next(descriptor, record.data);
}

// The first record of a journal, for the new journal that takes its place.
Record in_journal(const Record& start, int descriptor) {
  std::optional<Start> said = Start::parse(start.data);
  if (!said) throw Refusal(EINVAL);
  said->journal = FileIdentity::of(descriptor);
  return {start.kind, start.place, said->text()};
}

}  // namespace

int64_t bytes_in_journal(const Record& record) { return kHeadBytes + static_cast<int64_t>(record.data.size()); }

std::optional<Record> record_in_journal(int64_t journal_bytes, int64_t at, const ReadJournal& read) {
  const int64_t behind = journal_bytes - at - kHeadBytes;
  if (at < 0 || behind < 0) return std::nullopt;
  const std::string head = read(kHeadBytes, at);
  if (static_cast<int64_t>(head.size()) < kHeadBytes) return std::nullopt;
  const uint64_t place = number_at(head, 1, 8);
  const uint64_t bytes = number_at(head, 9, 8);
  if (place > uint64_t{INT64_MAX} || bytes > static_cast<uint64_t>(behind)) return std::nullopt;
  Record record{static_cast<RecordKind>(head[0]), static_cast<int64_t>(place),
                read(static_cast<int64_t>(bytes), at + kHeadBytes)};
  const bool is_whole = record.data.size() == bytes &&
                        number_at(head, kKnownBytes, 4) == checksum_of(head.substr(0, kKnownBytes), record.data);
  return is_whole ? std::optional(std::move(record)) : std::nullopt;
}

std::vector<RecordPosition> places_in_journal(const LogRecords& log, int64_t since) {
  std::vector<RecordPosition> found;
  for (int64_t at = since; const std::optional<Record> record = log.read(at);) {
    found.push_back({record->kind, record->place, at, static_cast<int64_t>(record->data.size())});
    at += bytes_in_journal(*record);
  }
  return found;
}

// ---- In memory ----------------------------------------------------------------------------------------------------

void MemoryLog::append(std::span<const Record> records, bool /*sync*/) {
  records_.insert(records_.end(), records.begin(), records.end());
}

std::optional<Record> MemoryLog::read(int64_t at) const {
  if (at < 0 || at >= end()) return std::nullopt;
  return records_[static_cast<size_t>(at)];
}

std::vector<RecordPosition> MemoryLog::places(int64_t since) const {
  std::vector<RecordPosition> found;
  for (int64_t at = since; at < end(); ++at) {
    const Record& record = records_[static_cast<size_t>(at)];
    found.push_back({record.kind, record.place, at, static_cast<int64_t>(record.data.size())});
  }
  return found;
}

void MemoryLog::cut(int64_t end) {
  if (end < this->end()) records_.erase(records_.begin() + end, records_.end());
}

// ---- On the medium ------------------------------------------------------------------------------------------------

JournalLog::JournalLog(std::string of, std::unique_ptr<OwnFile> file)
    : of_(std::move(of)), file_(std::move(file)), new_path_(file_->path() + ".new") {
  file_calls::try_remove_file(new_path_);  // a killed process may have left one
}

void JournalLog::append(std::span<const Record> records, bool sync) {
  store_errors(of_, "keep in " + file_->path() + " what is to be changed", [&] {
    const int64_t before = file_calls::status_of(file_->descriptor()).st_size;
    try {
      for (const Record& record : records) write_record(file_->descriptor(), record);
      if (sync) this->sync();
    } catch (const Refusal&) {  // a later record must not follow half a record
      [[maybe_unused]] const int ignored = ::ftruncate(file_->descriptor(), before);
      throw;
    }
  });
}

void JournalLog::sync() {
  file_calls::sync_data(file_->descriptor());
  if (has_lasting_name_) return;
  file_calls::sync_names(std::filesystem::path(file_->path()).parent_path().string());
  has_lasting_name_ = true;
}

std::optional<FileIdentity> JournalLog::identity() const {
  return store_errors(of_, "see which file " + file_->path() + " is",
                      [&] { return FileIdentity::of(file_->descriptor()); });
}

int64_t JournalLog::end() const {
  return store_errors(of_, "see how long " + file_->path() + " is",
                      [&] { return int64_t{file_calls::status_of(file_->descriptor()).st_size}; });
}

std::optional<Record> JournalLog::read(int64_t at) const {
  return store_errors(of_, "read " + file_->path(), [&] {
    return record_in_journal(
        file_calls::status_of(file_->descriptor()).st_size, at,
        [&](int64_t bytes, int64_t offset) { return file_calls::read_at(file_->descriptor(), bytes, offset); });
  });
}

std::vector<RecordPosition> JournalLog::places(int64_t since) const { return places_in_journal(*this, since); }

void JournalLog::cut(int64_t end) {
  store_errors(of_, "shorten the journal of its changes, " + file_->path(), [&] {
    if (file_calls::status_of(file_->descriptor()).st_size <= end) return;
    file_calls::set_size(file_->descriptor(), end);
    file_calls::sync_data(file_->descriptor());
  });
}

bool JournalLog::shorten(int64_t committed_size, const Record& checkpoint) {
  Descriptor renamed;
  try {
    renamed = file_calls::open_file(new_path_, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_APPEND, 0600);
    write_shortened(renamed.get(), committed_size, checkpoint);
    file_calls::rename_file(new_path_, file_->path());
  } catch (const Refusal&) {  // NOLINT(bugprone-empty-catch): the journal stays as it is, unless it was renamed
  } catch (const Error&) {    // NOLINT(bugprone-empty-catch): the same
  }
  if (!renamed.is_open()) return false;
  if (!has_name(renamed.get(), file_->path())) {
    file_calls::try_remove_file(new_path_);
    file_calls::unlock(renamed.get());
    return false;
  }
  file_->go_on_with(std::move(renamed));
  has_lasting_name_ = false;
  return true;
}

// Writes the first record, and the oldest record of each range or name. The undo to the last commit does not need the
// others: the oldest record overwrites what they restore, and bytes after `committed_size` are cut off.
void JournalLog::write_shortened(int descriptor, int64_t committed_size, const Record& checkpoint) const {
  if (!file_calls::try_lock(descriptor, file_calls::Lock::kExclusive)) throw Refusal(EAGAIN);
  file_calls::set_mode(descriptor, file_calls::status_of(file_->descriptor()).st_mode & 07777);
  std::set<Subject> seen;
  for (const RecordPosition& place : places(0)) {
    const std::optional<Record> record = read(place.at);
    if (!record) throw Refusal(EIO);
    if (record->kind == RecordKind::kStart) write_record(descriptor, in_journal(*record, descriptor));
    if (!has_subject(record->kind) || !seen.insert(subject_of(*record)).second) continue;
    if (record->kind != RecordKind::kBytes || record->place < committed_size) write_record(descriptor, *record);
  }
  write_record(descriptor, checkpoint);
  file_calls::sync_data(descriptor);
}

void JournalLog::close() noexcept {
  if (file_->descriptor() < 0) return;
  try {
    const bool is_owner = made_in_ == fork_generation();
    if (is_owner && file_calls::status_of(file_->descriptor()).st_size == 0 && file_->has_name()) {
      file_calls::remove_file(file_->path());
    }
  } catch (const Refusal&) {  // NOLINT(bugprone-empty-catch): an empty journal does no harm
  }
  file_->close();
}

void JournalLog::let_read(uint32_t mode_of_file) {
  file_calls::set_mode(file_->descriptor(), 0600 | (mode_of_file & 0044));
}

}  // namespace swath
