#include "journal/checkpoint_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/per_process.h"
#include "journal/changes.h"
#include "journal/log.h"
#include "journal/start.h"
#include "journal/take_back.h"
#include "store/file_calls.h"
#include "store/rados/name.h"

namespace swath {
namespace {

constexpr int kAttempts = 100;  // to read a journal that grows at the same time

struct OwnJournals {
  std::mutex mutex;
  std::multiset<std::string> names;
};

OwnJournals& own_journals() {
  static auto* const journals = new PerProcess<OwnJournals>;  // never destroyed: threads may outlive main
  return journals->get();
}

bool is_own(const std::string& journal) {
  OwnJournals& own = own_journals();
  const std::lock_guard guard(own.mutex);
  return own.names.contains(journal);
}

// A copy of a journal, as it was at one moment.
class JournalCopy final : public LogRecords {
 public:
  explicit JournalCopy(std::string bytes) : bytes_(std::move(bytes)) {}

  std::optional<Record> read(int64_t at) const override {
    return record_in_journal(std::ssize(bytes_), at, [&](int64_t bytes, int64_t offset) {
      return bytes_.substr(static_cast<size_t>(offset), static_cast<size_t>(bytes));
    });
  }
  std::vector<RecordPosition> places(int64_t since) const override { return places_in_journal(*this, since); }

 private:
  const std::string bytes_;
};

// Whether the journal's owner may decide what the file contains: anybody can create a file with the journal's name.
bool is_trusted(const struct stat& journal, const struct stat& file) {
  return S_ISREG(journal.st_mode) &&
         (journal.st_uid == file.st_uid || journal.st_uid == ::geteuid() || journal.st_uid == 0);
}

// Returns an empty text if there is no journal, or if it cannot be read.
std::string read_journal(const std::string& path, const std::string& journal) {
  try {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Descriptor file = file_calls::open_file(journal, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const struct stat before = file_calls::status_of(file.get());
      if (!is_trusted(before, file_calls::status_of(path))) return "";
      std::string bytes = file_calls::read_at(file.get(), before.st_size, 0);
      // Records are only appended, or all are removed.
      const bool is_whole = std::ssize(bytes) == before.st_size &&
                            file_calls::status_of(file.get()).st_size >= before.st_size &&
                            file_calls::has_name(file.get(), journal);
      if (is_whole) return bytes;
    }
  } catch (const Refusal&) {  // NOLINT(bugprone-empty-catch): the journal was removed, or is another user's
  }
  return "";
}

bool is_of_this_file(const std::string& path, const Record& first) {
  const std::optional<Start> start = first.kind == RecordKind::kStart ? Start::parse(first.data) : std::nullopt;
  return start && start->file.may_be(FileIdentity::of(path));
}

// Adds the bytes at offsets that have none yet.
void add_between(std::map<int64_t, std::string>& kept, int64_t offset, std::string_view bytes) {
  const int64_t end = offset + std::ssize(bytes);
  for (int64_t at = offset; at < end;) {
    const auto next = kept.upper_bound(at);
    if (next != kept.begin()) {
      const auto& [begin, there] = *std::prev(next);
      if (at < begin + std::ssize(there)) {
        at = begin + std::ssize(there);
        continue;
      }
    }
    const int64_t until = next == kept.end() ? end : std::min(end, next->first);
    kept.emplace(at, bytes.substr(static_cast<size_t>(at - offset), static_cast<size_t>(until - at)));
    at = until;
  }
}

CheckpointState state_of(const JournalCopy& journal, const SinceCheckpoint& changed) {
  CheckpointState found{changed.size, {}};
  // The oldest record of an offset has the content at the checkpoint.
  for (const auto& place : std::views::reverse(changed.newest_first)) {
    if (place.kind != RecordKind::kBytes) continue;
    if (const std::optional<Record> record = journal.read(place.at)) {
      add_between(found.kept, record->place, record->data);
    }
  }
  return found;
}

}  // namespace

void CheckpointState::restore(int64_t offset, std::span<std::byte> read) const {
  const int64_t end = offset + std::ssize(read);
  auto one = kept.upper_bound(offset);
  if (one != kept.begin()) --one;
  for (; one != kept.end() && one->first < end; ++one) {
    const int64_t begin = std::max(offset, one->first);
    const int64_t count = std::min(end, one->first + std::ssize(one->second)) - begin;
    if (count <= 0) continue;
    std::memcpy(read.data() + (begin - offset), one->second.data() + (begin - one->first), static_cast<size_t>(count));
  }
}

std::optional<CheckpointState> checkpoint_state(const std::string& path, WhoChanges who) {
  if (!has_journal(path)) return std::nullopt;
  const std::string name = journal_path(path);
  if (who == WhoChanges::kOthers && is_own(name)) return std::nullopt;
  const JournalCopy journal(read_journal(path, name));
  const std::optional<Record> first = journal.read(0);
  if (!first) return std::nullopt;
  return store_errors(path, "see what it held before it is changed", [&]() -> std::optional<CheckpointState> {
    if (!is_of_this_file(path, *first)) return std::nullopt;
    return state_of(journal, since_checkpoint(path, journal, *first, {}));
  });
}

bool has_journal(const std::string& path) { return !is_rados(path) && file_calls::is_there(journal_path(path)); }

OwnJournal::OwnJournal(std::string journal) : journal_(std::move(journal)) {
  OwnJournals& own = own_journals();
  const std::lock_guard guard(own.mutex);
  own.names.insert(journal_);
}

OwnJournal::~OwnJournal() {
  OwnJournals& own = own_journals();
  const std::lock_guard guard(own.mutex);
  if (const auto found = own.names.find(journal_); found != own.names.end()) own.names.erase(found);
}

}  // namespace swath
