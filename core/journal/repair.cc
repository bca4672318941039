// Journals that other processes left: their changes are undone, or the journals are removed because a new file takes
// the name.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "journal/changes.h"
#include "journal/lock_journal.h"
#include "journal/log.h"
#include "journal/own_file.h"
#include "journal/take_back.h"
#include "journal/target_lock.h"
#include "store/file_calls.h"
#include "store/rados/name.h"

namespace swath {
namespace {

constexpr double kReplacingLockSeconds = 0.25;

// Whether the file belongs to another user.
bool is_foreign(const std::string& name) {
  const std::optional<struct stat> found = file_calls::status_of_name(name);
  return found && S_ISREG(found->st_mode) && found->st_uid != ::geteuid();
}

// Returns no open file if nothing has the name.
Descriptor open_foreign(const std::string& name) {
  try {
    return file_calls::open_file(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (const Refusal& refusal) {
    if (refusal.error() == ENOENT) return {};
    refuse_planted(name);
    throw;
  }
}

// Whether the owner of another user's journal is alive. Throws if the owner is dead and the journal has records.
bool is_of_living_owner(const std::string& path, const std::string& name) {
  const Descriptor file = open_foreign(name);
  if (!file.is_open()) return false;
  if (!file_calls::try_lock(file.get(), file_calls::Lock::kShared)) return true;
  const struct stat found = file_calls::status_of(file.get());
  if (found.st_size == 0) return false;
  throw Error(ErrorKind::kStore,
              path + ": a process of the user with number " + std::to_string(found.st_uid) +
                  " was killed while it changed the file, which is as the kill left it; that user must open it with "
                  "Swath once, which repairs it by " +
                  name,
              EPERM);
}

// Returns no open file for a folder, which no process locks.
Descriptor lock_target_of_repair(const std::string& path) {
  if (file_calls::is_folder(path)) return {};
  Descriptor file = file_calls::open_file(path, O_RDWR);
  lock_target(file.get(), path, "cannot repair it");
  return file;
}

bool repair_by(const std::string& path, JournalLog& journal, bool is_copy) {
  if (!file_calls::is_there(file_calls::real_path(path)) || (!is_copy && is_of_replaced_file(path, journal))) {
    journal.cut(0);  // the file that it belonged to is gone
    return false;
  }
  const Descriptor locked = lock_target_of_repair(path);
  const bool found = take_back(path, journal, {0, is_copy});
  journal.cut(0);
  return found;
}

// Returns null if another process holds the lock: its owner is alive.
std::unique_ptr<JournalLog> try_lock_journal(const std::string& path, const std::string& name) {
  try {
    return std::make_unique<JournalLog>(path, std::make_unique<OwnFile>(name));
  } catch (const HeldByOther&) {
    return nullptr;
  }
}

}  // namespace

bool repair(const std::string& path, bool is_copy) {
  if (is_rados(path)) return false;  // a file of a pool has no journal: only its elements can be changed
  const std::string name = journal_path(path);
  if (!file_calls::is_there(name)) return false;
  return store_errors(path, "repair it by " + name, [&] {
    if (is_foreign(name)) {
      is_of_living_owner(path, name);
      return false;
    }
    const std::unique_ptr<JournalLog> journal = try_lock_journal(path, name);
    if (!journal) return false;
    return repair_by(path, *journal, is_copy);
  });
}

struct Replacing::State {
  std::unique_ptr<JournalLog> journal;  // null if there is no journal, or only an empty one of another user
};

Replacing::Replacing(const std::string& path) : state_(std::make_unique<State>()) {
  if (is_rados(path)) return;
  const std::string name = journal_path(path);
  store_errors(path, "replace it, beside which " + name + " lies", [&] {
    if (is_foreign(name)) {
      if (!is_of_living_owner(path, name)) return;
      throw Error(ErrorKind::kStore, path + ": a process of another user is changing it; wait for it", EAGAIN);
    }
    if (file_calls::is_there(name)) state_->journal = lock_journal(path, kReplacingLockSeconds);
  });
}

Replacing::~Replacing() = default;

void Replacing::taken() {
  if (state_->journal) state_->journal->cut(0);
}

void Replacing::close() noexcept { state_->journal.reset(); }

}  // namespace swath
