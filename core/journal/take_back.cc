// Left after a kill: ".NAME.swath-undo", the journal of changes. The next open of NAME undoes the changes (here), and
// so does `swath repair` (repair.cc).
#include "journal/take_back.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "journal/changes.h"
#include "journal/start.h"
#include "store/file_calls.h"

namespace swath {
namespace {

[[noreturn]] void fail_unknown(const std::string& path) {
  throw Error(ErrorKind::kStore,
              path + ": " + journal_path(path) +
                  " is no journal of changes that this version of Swath knows; remove it if you know what it is",
              EINVAL);
}

Start start_of(const std::string& path, const Record& first) {
  const std::optional<Start> start = first.kind == RecordKind::kStart ? Start::parse(first.data) : std::nullopt;
  if (!start) fail_unknown(path);
  return *start;
}

// The old length of the file. Throws if the first record belongs to another file.
int64_t size_of_start(const std::string& path, const Record& first, bool is_copy) {
  const Start start = start_of(path, first);
  if (is_copy || start.file.may_be(FileIdentity::of(path))) return start.size;
  throw Error(ErrorKind::kStore,
              path + ": " + journal_path(path) +
                  " tells how to take back what a process that was killed left unfinished in another file, which this "
                  "one has replaced, or which both were copied from. If the file was replaced, remove the journal; if "
                  "both were copied, say so: swath.formats.changes.repair(path, is_copy=True)",
              ESTALE);
}

// Reads a record again that was complete when the positions were listed.
Record whole_record(const std::string& path, const ChangeLog& log, const RecordPosition& place) {
  std::optional<Record> record = log.read(place.at);
  if (!record) {
    throw Error(ErrorKind::kStore, path + ": " + journal_path(path) + " was changed while it was read; open it again",
                EIO);
  }
  return *std::move(record);
}

void take_back_in_file(const std::string& path, const ChangeLog& log, const SinceCheckpoint& changed) {
  const Descriptor file = file_calls::open_file(path, O_RDWR);
  file_calls::set_size(file.get(), changed.size);  // first, because this frees space
  for (const RecordPosition& place : changed.newest_first) {
    if (place.kind != RecordKind::kBytes) continue;
    const Record record = whole_record(path, log, place);
    // Bytes after the restored end stay cut off.
    const int64_t bytes = std::clamp<int64_t>(changed.size - record.place, 0, static_cast<int64_t>(record.data.size()));
    file_calls::write_at(file.get(), std::string_view(record.data).substr(0, static_cast<size_t>(bytes)), record.place);
  }
}

// The full path of a name in a record. Throws Error{kStore} if it leads out of the store.
std::string path_inside(const std::string& store, const std::string& relative) {
  const std::string full = store + "/" + relative;
  if (is_inside_of_store(relative)) {
    const std::string folder = file_calls::real_path(std::filesystem::path(full).parent_path().string());
    const std::string top = file_calls::real_path(store);
    if (folder == top || folder.starts_with(top == "/" ? top : top + "/")) return full;
  }
  std::string shown = full;
  std::replace(shown.begin(), shown.end(), '\0', '?');  // a zero byte would end the message
  throw Error(ErrorKind::kStore, store + ": the journal of its changes tells of " + shown + ", which is outside of it",
              EPERM);
}

// The permissions of the file with this name; nothing if there is none.
std::optional<mode_t> mode_of(const std::string& path) {
  try {
    return file_calls::status_of(path).st_mode & 07777;
  } catch (const Refusal& refusal) {
    if (refusal.error() != ENOENT) throw;
    return std::nullopt;
  }
}

// Writes a new file and renames it: after a kill, the name has the old file or the new one.
void restore_file(const std::string& path, std::string_view content) {
  const std::string working = path + ".swath-undo";
  if (file_calls::is_there(working)) file_calls::remove_file(working);
  {
    const Descriptor file = file_calls::open_file(working, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0666);
    if (const std::optional<mode_t> mode = mode_of(path)) file_calls::set_mode(file.get(), *mode);
    file_calls::write_next(file.get(), content);
  }
  file_calls::rename_file(working, path);
}

void take_back_in_store(const std::string& path, const ChangeLog& log, const SinceCheckpoint& changed) {
  for (const RecordPosition& place : changed.newest_first) {
    if (place.kind != RecordKind::kAdded && place.kind != RecordKind::kReplaced) continue;
    const Record record = whole_record(path, log, place);
    if (record.kind == RecordKind::kAdded) {
      file_calls::remove_all(path_inside(path, record.data));
      continue;
    }
    const auto name_bytes = static_cast<size_t>(record.place);
    if (name_bytes > record.data.size()) fail_unknown(path);
    const std::string_view data = record.data;
    restore_file(path_inside(path, std::string(data.substr(0, name_bytes))), data.substr(name_bytes));
  }
}

std::string random_bytes() {
  std::string bytes(16, '\0');
  // It cannot fail for so few bytes, once the machine has booted.
  [[maybe_unused]] const auto ignored = ::getrandom(bytes.data(), bytes.size(), 0);
  return bytes;
}

std::string read_boot_identity() {
  try {
    const Descriptor file = file_calls::open_file("/proc/sys/kernel/random/boot_id", O_RDONLY);
    const std::string text = file_calls::read_rest(file.get());
    const size_t end = text.find_last_not_of(" \n");
    if (end != std::string::npos) return text.substr(0, end + 1);
  } catch (const Refusal&) {  // NOLINT(bugprone-empty-catch): the machine does not report its boot
  }
  return random_bytes();
}

}  // namespace

SinceCheckpoint since_checkpoint(const std::string& path, const LogRecords& log, const Record& first,
                                 const TakeBackOptions& options) {
  const bool says_size = first.kind == RecordKind::kMark || first.kind == RecordKind::kCheckpoint;
  SinceCheckpoint found{says_size ? first.place : size_of_start(path, first, options.is_copy),
                        log.places(options.since)};
  std::reverse(found.newest_first.begin(), found.newest_first.end());
  for (auto record = found.newest_first.begin(); record != found.newest_first.end(); ++record) {
    if (record->kind != RecordKind::kCheckpoint) continue;
    const std::optional<Record> checkpoint = log.read(record->at);
    if (!checkpoint || checkpoint->data != boot_identity()) continue;  // the machine has crashed or booted since
    found.size = record->place;
    found.newest_first.erase(record, found.newest_first.end());
    break;
  }
  return found;
}

bool take_back(const std::string& path, const ChangeLog& log, const TakeBackOptions& options) {
  const std::optional<Record> first = log.read(options.since);
  if (!first) return false;
  store_errors(path, "take back what was changed in it", [&] {
    const SinceCheckpoint changed = since_checkpoint(path, log, *first, options);
    if (file_calls::is_folder(path)) {
      take_back_in_store(path, log, changed);
    } else {
      take_back_in_file(path, log, changed);
    }
  });
  sync_target(path);
  return true;
}

bool is_of_replaced_file(const std::string& path, const ChangeLog& log) {
  const std::optional<Record> first = log.read(0);
  if (!first) return false;
  return store_errors(path, "see which file it is",
                      [&] { return start_of(path, *first).was_replaced_by(FileIdentity::of(path), log.identity()); });
}

const std::string& boot_identity() {
  static const std::string identity = read_boot_identity();
  return identity;
}

bool is_inside_of_store(const std::string& relative) {
  if (relative.empty() || relative.front() == '/' || relative.find('\0') != std::string::npos) return false;
  const std::filesystem::path path(relative);
  return std::none_of(path.begin(), path.end(),
                      [](const std::filesystem::path& name) { return name == "." || name == ".."; });
}

void sync_target(const std::string& path) {
  store_errors(path, "sync", [&] {
    const Descriptor file = file_calls::open_file(path, O_RDONLY);
    if (S_ISDIR(file_calls::status_of(file.get()).st_mode)) {
      file_calls::sync_file_system(file.get());
    } else {
      file_calls::sync_data(file.get());
    }
  });
}

}  // namespace swath
