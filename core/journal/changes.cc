#include "journal/changes.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fork.h"
#include "journal/checkpoint_state.h"
#include "journal/lock_journal.h"
#include "journal/log.h"
#include "journal/take_back.h"
#include "store/file_calls.h"
#include "store/rados/name.h"

namespace swath {
namespace {

// The maximum of the bytes that one record keeps.
constexpr int64_t kPieceBytes = int64_t{16} << 20;

// The ranges and names that records keep.
struct Kept {
  std::set<KeptRange> ranges;
  std::set<std::string> names;  // in a store

  void add(const Kept& others) {
    ranges.insert(others.ranges.begin(), others.ranges.end());
    names.insert(others.names.begin(), others.names.end());
  }
  void clear() {
    ranges.clear();
    names.clear();
  }
};

// Records that are appended together.
struct NewRecords {
  std::vector<Record> records;
  Kept kept;
  int64_t bytes = 0;
};

int64_t size_of(const std::string& path) {
  return store_errors(path, "see how long it is", [&] { return int64_t{file_calls::status_of(path).st_size}; });
}

void check_inside_of_store(const std::string& relative) {
  if (!is_inside_of_store(relative)) fail_argument("'" + relative + "' is no path inside of a store");
}

// The record with the content of a file of a store. If the file does not exist yet, the record says that it is added.
Record record_of_replaced(const std::string& store, const std::string& relative) {
  try {
    const Descriptor file = file_calls::open_file(store + "/" + relative, O_RDONLY);
    return {RecordKind::kReplaced, static_cast<int64_t>(relative.size()), relative + file_calls::read_rest(file.get())};
  } catch (const Refusal& refusal) {
    if (refusal.error() == ENOENT) return {RecordKind::kAdded, 0, relative};
    fail_refused(store, "read " + relative, refusal);
  }
}

std::unique_ptr<ChangeLog> open_log(const std::string& path, const ChangesOptions& options) {
  if (!options.is_durable) return std::make_unique<MemoryLog>();
  return store_errors(path, "keep a journal of changes in " + journal_path(path), [&] {
    const mode_t mode = file_calls::status_of(path).st_mode;
    std::unique_ptr<JournalLog> journal = lock_journal(path, options.lock_seconds);
    journal->let_read(mode);
    return journal;
  });
}

}  // namespace

// One thread at a time, which holds the mutex, calls these functions; the constructor needs no mutex.
struct Changes::State {
  State(std::string of, const ChangesOptions& wanted);

  void refuse_lost() const;
  void begin();
  void keep(NewRecords now);
  void append(std::vector<Record> records, bool sync);
  void commit();
  void undo(const Mark* mark);
  void close();
  void abandon();
  void release();
  void forget(int64_t end);

  const std::string path;
  const ChangesOptions options;
  const uint64_t made_in = fork_generation();
  std::mutex mutex;
  std::optional<OwnJournal> own;  // exists as long as the log is in a file, and locked
  const std::unique_ptr<ChangeLog> log;
  bool is_started = false;  // the log has records
  bool is_closed = false;
  Kept kept;                     // since the last mark, or since the last checkpoint
  Kept kept_for_good;            // since the last commit, on the medium
  int64_t checkpoint_begin = 0;  // the position of the last checkpoint record in the log
  int64_t checkpoint_end = 0;
  int64_t commits = 0;
  std::string lost;  // the reason; empty if nothing is lost
  int64_t long_bytes;
  int64_t committed_size = 0;  // the length of the file when the first record of the log was made
  int64_t size = 0;            // bytes of the file before this offset are kept before they are overwritten
};

Changes::State::State(std::string of, const ChangesOptions& wanted)
    : path(std::move(of)), options(wanted), log(open_log(path, wanted)), long_bytes(wanted.long_bytes) {
  if (!is_of_replaced_file(path, *log)) take_back(path, *log, {});
  log->cut(0);  // removes a torn record, too
  size = size_of(path);
  if (options.is_durable) own.emplace(journal_path(path));
}

void Changes::State::refuse_lost() const {
  if (lost.empty()) return;
  throw Error(
      ErrorKind::kStore,
      path + ": it cannot be completed, for data that were being moved in it are lost: " + lost + "; create it again",
      EIO);
}

void Changes::State::begin() {
  refuse_lost();
  if (is_started) return;
  size = size_of(path);
  append({}, false);
}

// The records must be on the medium first if the return to the last commit needs them after a crash of the machine.
void Changes::State::keep(NewRecords now) {
  const int64_t committed = is_started ? committed_size : size;
  const auto has_range = [&](const KeptRange& range) {
    // After a crash, the file is cut to its committed length: bytes after it need no record.
    return range.offset >= committed || kept_for_good.ranges.contains(range);
  };
  const auto has_name = [&](const std::string& name) { return kept_for_good.names.contains(name); };
  const bool is_on_medium = std::all_of(now.kept.ranges.begin(), now.kept.ranges.end(), has_range) &&
                            std::all_of(now.kept.names.begin(), now.kept.names.end(), has_name);
  append(std::move(now.records), !is_on_medium);
  kept.add(now.kept);
  kept_for_good.add(now.kept);
}

void Changes::State::append(std::vector<Record> records, bool sync) {
  if (!is_started) {
    const Start start = store_errors(path, "change", [&] {
      if (options.is_durable) file_calls::touch(path);  // an overlay file system copies the file up first
      return Start{FileIdentity::of(path), size, log->identity()};
    });
    records.insert(records.begin(), {RecordKind::kStart, 0, start.text()});
    committed_size = size;
  }
  if (records.empty()) return;
  log->append(records, sync && options.is_durable);
  is_started = true;
}

void Changes::State::commit() {
  refuse_lost();
  if (is_started) {
    if (options.is_durable) sync_target(path);
    checkpoint_begin = checkpoint_end = 0;
    forget(0);
    ++commits;
  }
  size = size_of(path);
}

void Changes::State::undo(const Mark* mark) {
  if (!is_started) return;
  int64_t begin = checkpoint_begin;
  int64_t end = checkpoint_end;
  if (mark != nullptr && mark->commits == commits && mark->place >= end) begin = end = mark->place;
  take_back(path, *log, {begin, false});
  forget(end);
  size = size_of(path);
}

void Changes::State::close() {
  if (is_closed) return;
  is_closed = true;
  try {
    if (lost.empty()) {
      undo(nullptr);
      if (is_started) commit();
    }
  } catch (...) {  // the process that opens the file next undoes what is in the journal
    is_started = false;
    release();
    throw;
  }
  release();
}

void Changes::State::abandon() {
  if (!is_closed) log->cut(0);
  is_started = false;
  is_closed = true;
  release();
}

void Changes::State::release() {
  log->close();
  own.reset();
}

void Changes::State::forget(int64_t end) {
  log->cut(end);
  is_started = end > 0;
  kept.clear();
  kept_for_good.clear();
}

namespace {

// Locks the mutex; in a forked child, an error instead: the thread that held it at the fork does not exist there.
std::unique_lock<std::mutex> own(std::mutex& mutex, uint64_t made_in, const std::string& path) {
  if (made_in == fork_generation()) return std::unique_lock(mutex);
  throw Error(ErrorKind::kStore,
              path + ": the process that this one was forked from has it open for changes; open it again in this one",
              EBADF);
}

// The parts of the ranges that are not kept yet, in pieces of at most kPieceBytes.
std::vector<KeptRange> pieces_of(std::span<const KeptRange> ranges, int64_t size, const std::set<KeptRange>& kept) {
  std::vector<KeptRange> pieces;
  std::set<KeptRange> seen;
  for (const KeptRange& range : ranges) {
    if (range.offset < 0) fail_argument("bytes at " + std::to_string(range.offset) + " cannot be kept");
    const int64_t end = range.offset + std::min(range.bytes, std::max<int64_t>(size - range.offset, 0));
    for (int64_t at = range.offset; at < end; at += kPieceBytes) {
      const KeptRange piece{at, std::min(kPieceBytes, end - at)};
      if (!kept.contains(piece) && seen.insert(piece).second) pieces.push_back(piece);
    }
  }
  return pieces;
}

}  // namespace

Changes::Changes(std::string path, const ChangesOptions& options)
    : state_(std::make_unique<State>(std::move(path), options)) {}

Changes::~Changes() {
  try {
    close();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next open undoes the changes
  }
}

const std::string& Changes::path() const { return state_->path; }

bool Changes::is_durable() const { return state_->options.is_durable; }

bool Changes::has_begun() const {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  return state_->is_started;
}

void Changes::begin() {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  state_->begin();
}

Mark Changes::mark() {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  state_->begin();
  const Mark found{state_->commits, state_->log->end()};
  state_->kept.clear();                  // bytes that were kept before the mark must be kept again
  state_->size = size_of(state_->path);  // bytes that were added before the mark must be kept, too
  state_->append({{RecordKind::kMark, state_->size, ""}}, false);
  return found;
}

void Changes::keep(int descriptor, int64_t offset, int64_t bytes) {
  const KeptRange range{offset, bytes};
  keep_all(descriptor, {&range, 1});
}

void Changes::keep_all(int descriptor, std::span<const KeptRange> ranges) {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  NewRecords now;
  for (const KeptRange& piece : pieces_of(ranges, state_->size, state_->kept.ranges)) {
    std::string held = store_errors(state_->path, "read what is to be changed",
                                    [&] { return file_calls::read_at(descriptor, piece.bytes, piece.offset); });
    now.records.push_back({RecordKind::kBytes, piece.offset, std::move(held)});
    now.kept.ranges.insert(piece);
    now.bytes += piece.bytes;
    if (now.bytes >= kPieceBytes) state_->keep(std::exchange(now, {}));
  }
  state_->keep(std::move(now));
}

void Changes::adds(const std::string& relative) {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  check_inside_of_store(relative);
  if (file_calls::is_there(state_->path + "/" + relative)) {
    throw Error(ErrorKind::kStore, state_->path + ": " + relative + ": cannot add: it is there already", EEXIST);
  }
  state_->append({{RecordKind::kAdded, 0, relative}}, true);
}

void Changes::replaces_all(std::span<const std::string> relative) {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  for (const std::string& name : relative) check_inside_of_store(name);
  NewRecords now;
  for (const std::string& name : relative) {
    if (state_->kept.names.contains(name) || !now.kept.names.insert(name).second) continue;
    now.records.push_back(record_of_replaced(state_->path, name));
  }
  state_->keep(std::move(now));
}

void Changes::checkpoint() {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  State& state = *state_;
  state.size = size_of(state.path);  // bytes after this end need no record: an undo cuts them off
  if (!state.is_started) return;
  if (!state.options.is_durable) return state.commit();  // no undo goes back further than this: forget the records
  const Record checkpoint{RecordKind::kCheckpoint, state.size, boot_identity()};
  if (state.log->end() > state.long_bytes && state.log->shorten(state.committed_size, checkpoint)) {
    state.long_bytes = std::max(state.options.long_bytes, 2 * state.log->end());
  } else {
    state.append({checkpoint}, false);
  }
  state.checkpoint_end = state.log->end();
  state.checkpoint_begin = state.checkpoint_end - bytes_in_journal(checkpoint);
  state.kept.clear();
}

void Changes::commit() {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  state_->commit();
}

void Changes::undo(const Mark& mark) {
  if (state_->made_in != fork_generation()) return;
  const std::lock_guard guard(state_->mutex);
  state_->undo(&mark);
}

void Changes::undo() {
  if (state_->made_in != fork_generation()) return;
  const std::lock_guard guard(state_->mutex);
  state_->undo(nullptr);
}

void Changes::close() {
  if (state_->made_in != fork_generation()) return state_->log->close();
  const std::lock_guard guard(state_->mutex);
  state_->close();
}

void Changes::abandon() {
  if (state_->made_in != fork_generation()) return state_->log->close();
  const std::lock_guard guard(state_->mutex);
  state_->abandon();
}

void Changes::lose(const std::string& why) {
  const auto guard = own(state_->mutex, state_->made_in, state_->path);
  state_->lost = why.empty() ? "an error without words" : why;
}

std::unique_ptr<Changes> changes_of(const std::string& path, bool is_durable) {
  if (is_rados(path)) {
    throw Error(ErrorKind::kUnsupported,
                path +
                    ": Swath changes the elements of files in pools, not what they hold: variables, attributes and "
                    "records are added in a file system, and the file is then copied to the pool (swath copy)");
  }
  try {
    return std::make_unique<Changes>(path, ChangesOptions{.is_durable = is_durable});
  } catch (const Error& error) {
    if (error.os_error() != EACCES && error.os_error() != EROFS) throw;
    return std::make_unique<Changes>(path, ChangesOptions{.is_durable = false});
  }
}

}  // namespace swath
