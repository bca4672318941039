#include "journal/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.h"
#include "store/file_calls.h"
#include "store/lock_holders.h"

namespace swath {
namespace {

// The attempts to lock a file whose owner removes it just before the lock.
constexpr int kLockAttempts = 1000;

// Symbolic links are not followed, and a FIFO does not block.
constexpr int kFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
constexpr mode_t kForThisUser = 0600;

// Describes what is wrong with a file that has one of Swath's own names; empty if it is as expected.
std::string what_is_wrong(const struct stat& found, nlink_t names_max) {
  if (S_ISLNK(found.st_mode)) return "is a symbolic link, which Swath does not follow there";
  if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) return "is neither a file nor a folder";
  if (found.st_uid != ::geteuid()) {
    return "belongs to the user with number " + std::to_string(found.st_uid) + ", not to " +
           std::to_string(::geteuid());
  }
  if (S_ISREG(found.st_mode) && found.st_nlink > names_max) {
    return "has " + std::to_string(found.st_nlink) + " names: it is some other file, too";
  }
  return "";
}

void refuse_foreign(const std::string& path, const struct stat& found, nlink_t names_max) {
  const std::string wrong = what_is_wrong(found, names_max);
  if (wrong.empty()) return;
  throw Error(ErrorKind::kStore,
              path + ": it " + wrong +
                  "; Swath writes only files of its own there: look who made it, and remove it, or choose another "
                  "folder",
              EPERM);
}

// Returns no open file if another process has just made or removed the file.
Descriptor try_make(const std::string& path) {
  try {
    return file_calls::open_file(path, kFlags | O_CREAT | O_EXCL, kForThisUser);
  } catch (const Refusal& refusal) {
    if (refusal.error() != EEXIST) throw;
    return {};
  }
}

Descriptor try_open(const std::string& path) {
  try {
    return file_calls::open_file(path, kFlags);
  } catch (const Refusal& refusal) {
    if (refusal.error() == ENOENT) return {};
    refuse_planted(path);
    throw;
  }
}

Descriptor open_own(const std::string& path) {
  while (true) {
    Descriptor made = try_make(path);
    if (made.is_open()) return made;
    Descriptor found = try_open(path);
    if (!found.is_open()) continue;
    refuse_foreign(path, file_calls::status_of(found.get()), 1);
    return found;
  }
}

// Returns no open file if the owner removed it after it was opened: a lock on it would keep no process out.
Descriptor try_lock_own(const std::string& path) {
  Descriptor opened = open_own(path);
  if (!file_calls::try_lock(opened.get(), file_calls::Lock::kExclusive)) {
    const std::string holder = flock_holder(opened.get());
    throw HeldByOther(holder.empty() ? "another process" : holder);
  }
  return file_calls::has_name(opened.get(), path) ? std::move(opened) : Descriptor();
}

}  // namespace

void refuse_planted(const std::string& path, const std::string& target) {
  const std::optional<struct stat> found = file_calls::status_of_name(path);
  if (!found) return;
  const std::optional<struct stat> second = target.empty() ? std::nullopt : file_calls::status_of_name(target);
  refuse_foreign(path, *found, second && file_calls::is_same_file(*found, *second) ? 2 : 1);
}

OwnFile::OwnFile(std::string path) : path_(std::move(path)) {
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    file_ = try_lock_own(path_);
    if (file_.is_open()) return;
  }
  throw Error(
      ErrorKind::kStore,
      path_ + ": after each of " + std::to_string(kLockAttempts) + " attempts to lock it another file had its name",
      ESTALE);
}

OwnFile::~OwnFile() { close(); }

bool OwnFile::has_name() const { return file_calls::has_name(file_.get(), path_); }

void OwnFile::go_on_with(Descriptor renamed) {
  std::swap(file_, renamed);
  file_calls::unlock(renamed.get());
}

void OwnFile::close() noexcept {
  const Descriptor closing = std::exchange(file_, Descriptor());
  // Forked children have the file open, too: a close alone would leave it locked.
  if (closing.is_open() && made_in_ == fork_generation()) file_calls::unlock(closing.get());
}

}  // namespace swath
