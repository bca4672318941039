#include "store/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/notice.h"
#include "base/units.h"
#include "store/fault/fault.h"
#include "store/lock_holders.h"
#include "store/write_back.h"

namespace swath {

std::string system_message(int error) { return std::generic_category().message(error); }

namespace {

// Repeats the call after signals, unless one interrupts the work; returns 0 or an errno value.
template <typename SystemCall>
int error_of(SystemCall call) {
  while (call() < 0) {
    if (errno != EINTR) return errno;
    check_interrupt_now();
  }
  return 0;
}

// The same, each attempt subject to `faults` (may be null).
template <typename SystemCall>
int error_of(Faults* faults, Step step, SystemCall call) {
  return error_of([&] {
    const int injected = faults == nullptr ? 0 : faults->error_at(step);
    if (injected == 0) return call();
    errno = injected;
    return -1;
  });
}

[[noreturn]] void fail_store(const std::string& what, int error, const std::string& advice = "") {
  throw Error(ErrorKind::kStore, what + ": " + system_message(error) + advice, error);
}

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
      return O_RDONLY | O_CLOEXEC;
    case OpenMode::kReadWrite:
      return O_RDWR | O_CLOEXEC;
    case OpenMode::kCreateNew:
      return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  }
  return O_RDONLY | O_CLOEXEC;
}

std::string open_text(const std::string& path, OpenMode mode) {
  if (mode == OpenMode::kCreateNew) return "create " + path;
  return "open " + path + (mode == OpenMode::kRead ? " for reading" : " for reading and writing");
}

int set_lock(int descriptor, int command, short type, int64_t begin, int64_t end) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = end - begin;
  return ::fcntl(descriptor, command, &range);
}

constexpr double kLockPauseSecondsMin = 50e-6;
constexpr double kLockPauseSecondsMax = 20e-3;
// The maximum pause in the first second, when the holder may be another rank that writes a window. A process with
// longer pauses than the others keeps losing the lock: with longer pauses, 4 processes that wrote 512 KiB in turn took
// twice as long as with the kernel's queue.
constexpr double kLockPauseSecondsAtFirst = 1e-3;
constexpr double kLockAtFirstSeconds = 1;
constexpr double kLockToldAfterSeconds = 3;

std::string lock_text(const std::string& path, int64_t begin, int64_t end) {
  return "lock " + path + " [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

std::string holders_text(int descriptor, int64_t begin, int64_t end) {
  const std::string holders = lock_holders(descriptor, begin, end);
  return holders.empty() ? "a process that is not to be seen from here, perhaps on another machine" : holders;
}

void check_range(const std::string& path, int64_t begin, int64_t end) {
  if (begin < 0 || begin >= end) fail_argument(lock_text(path, begin, end) + ": expected 0 <= begin < end");
}

class FileRangeLock : public RangeLock {
 public:
  FileRangeLock(std::shared_ptr<OpenFile> file, int64_t begin, int64_t end)
      : file_(std::move(file)), descriptor_(file_->descriptor()), begin_(begin), end_(end) {}
  ~FileRangeLock() override { set_lock(descriptor_, F_OFD_SETLK, F_UNLCK, begin_, end_); }

 private:
  std::shared_ptr<OpenFile> file_;
  int descriptor_;
  int64_t begin_;
  int64_t end_;
};

class LeasedWrite : public RangeLock {
 public:
  LeasedWrite(std::shared_ptr<OpenFile> file, WriteLease& lease) : file_(std::move(file)), lease_(lease) {}
  ~LeasedWrite() override { lease_.leave(); }

 private:
  std::shared_ptr<OpenFile> file_;  // of which the lease is a part
  WriteLease& lease_;
};

}  // namespace

int open_existing(int folder, const std::string& path, int flags, Openable openable) {
  // Without O_NONBLOCK the open of a pipe waits for a process at its other end.
  constexpr int kNeverWait = O_NONBLOCK | O_NOCTTY;
  int descriptor = -1;
  int error = error_of([&] { return descriptor = ::openat(folder, path.c_str(), flags | kNeverWait); });
  struct stat status = {};
  if (error == EWOULDBLOCK && ::fstatat(folder, path.c_str(), &status, 0) == 0 && S_ISREG(status.st_mode)) {
    // A file server holds a lease on it, which it gives up for a waiting open.
    error = error_of([&] { return descriptor = ::openat(folder, path.c_str(), flags); });
  }
  if (error == ENXIO) return -ESPIPE;  // a socket
  if (error != 0) return -error;
  error = ::fstat(descriptor, &status) != 0 ? errno : 0;
  const bool has_offsets =
      S_ISREG(status.st_mode) || (openable == Openable::kRegularFilesAndBlockDevices && S_ISBLK(status.st_mode));
  if (error == 0 && !has_offsets) error = S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
  // io_uring returns instead of waiting for the device if the descriptor has this flag.
  if (error == 0 && ::fcntl(descriptor, F_SETFL, flags & ~O_CLOEXEC) != 0) error = errno;
  if (error == 0) return descriptor;
  ::close(descriptor);
  return -error;
}

const char* expected_instead(int error, Openable openable) {
  if (error != ESPIPE) return "";
  return openable == Openable::kRegularFiles ? " (expected a regular file)"
                                             : " (expected a regular file or a block device)";
}

namespace {

std::array<char, 40> link_to(int descriptor) {
  std::array<char, 40> link;
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  return link;
}

// The descriptors of all open files. They do not change during a fork; in the child each becomes a reference to its
// file (O_PATH), which holds no lock and can be opened again.
class Descriptors {
 public:
  static Descriptors& all() {
    static auto* one = new Descriptors;  // never destroyed, for users that end late
    return *one;
  }

  // To be locked while the set changes.
  std::mutex& mutex() { return mutex_; }
  void add(int descriptor) { can_be_opened_again_[descriptor] = true; }
  void remove(int descriptor) { can_be_opened_again_.erase(descriptor); }

  // Called in a forked child: opens the file again, and replaces the O_PATH reference by the new open file. Returns 0
  // or an errno value.
  int open_again(int descriptor, int flags) {
    if (!can_be_opened_again_[descriptor]) return EBADF;
    int opened = -1;
    int error = error_of([&] { return opened = ::open(link_to(descriptor).data(), flags); });
    if (error == 0 && ::dup3(opened, descriptor, O_CLOEXEC) < 0) error = errno;
    if (opened >= 0) ::close(opened);
    return error;
  }

 private:
  Descriptors() {
    pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                   [] {
                     all().only_mark();
                     all().mutex_.unlock();
                   });
  }

  void only_mark() {
    for (auto& [descriptor, can_be_opened_again] : can_be_opened_again_) {
      const int mark = ::open(link_to(descriptor).data(), O_PATH | O_CLOEXEC);
      can_be_opened_again = mark >= 0 && ::dup3(mark, descriptor, O_CLOEXEC) >= 0;
      if (!can_be_opened_again) ::close(descriptor);
      if (mark >= 0) ::close(mark);
    }
  }

  std::mutex mutex_;
  std::map<int, bool> can_be_opened_again_;
};

}  // namespace

namespace {

Descriptor open_or_create(const std::string& path, OpenMode mode) {
  constexpr Openable kOpenable = Openable::kRegularFilesAndBlockDevices;
  int descriptor = -1;
  if (mode == OpenMode::kCreateNew) {
    const int error = error_of([&] { return descriptor = ::open(path.c_str(), flags_of(mode), 0666); });
    if (error != 0) fail_store(open_text(path, mode), error);
  } else {
    descriptor = open_existing(AT_FDCWD, path, flags_of(mode), kOpenable);
    if (descriptor < 0) fail_store(open_text(path, mode), -descriptor, expected_instead(-descriptor, kOpenable));
  }
  return Descriptor(descriptor);
}

}  // namespace

OpenFile::OpenFile(const std::string& path, OpenMode mode, std::unique_ptr<Faults> faults)
    : OpenFile(open_or_create(path, mode), path, mode, std::move(faults)) {}

OpenFile::OpenFile(Descriptor file, std::string path, OpenMode mode, std::unique_ptr<Faults> faults)
    : path_(std::move(path)), mode_(mode), faults_(std::move(faults)), descriptor_(file.release()) {
  const std::lock_guard guard(Descriptors::all().mutex());
  Descriptors::all().add(descriptor_);
}

OpenFile::~OpenFile() {
  const std::lock_guard guard(Descriptors::all().mutex());
  Descriptors::all().remove(descriptor_);
  ::close(descriptor_);
}

void OpenFile::open_again() const {
  const std::lock_guard guard(Descriptors::all().mutex());
  if (opened_in_.load() == fork_generation()) return;  // another thread was first
  const int error = Descriptors::all().open_again(descriptor_, flags_of(mode_) & ~(O_CREAT | O_EXCL));
  if (error != 0) {
    fail_store("open " + path_ + " again in a forked process", error, " (open the array in the process that uses it)");
  }
  opened_in_.store(fork_generation(), std::memory_order_release);
}

int64_t OpenFile::size() const {
  const int64_t end = ::lseek(descriptor(), 0, SEEK_END);  // fstat says 0 for a block device
  if (end < 0) fail_store("size of " + path_, errno);
  return end;
}

namespace {

int64_t pages_touched(int64_t offset, int64_t bytes) {
  const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  return (offset + bytes - 1) / page_bytes - offset / page_bytes + 1;
}

// The number of cached pages in the range; -1 if the kernel does not report it.
int64_t cached_pages(int descriptor, int64_t offset, int64_t bytes) {
  constexpr long kCachestat = 451;  // Linux 6.5; younger than many C libraries
  struct {
    uint64_t offset, bytes;
  } const range = {static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes)};
  struct {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } pages = {};
  return ::syscall(kCachestat, descriptor, &range, &pages, 0) == 0 ? static_cast<int64_t>(pages.cached) : -1;
}

}  // namespace

std::optional<double> OpenFile::cached_part(int64_t offset, int64_t bytes) const {
  constexpr int64_t kSpotBytes = int64_t{64} << 10;
  constexpr int64_t kSpots = 16;
  if (bytes <= 0) return 1;
  // The kernel checks every folio: with small folios and cold caches, 4 MiB take 100 us, and a large file takes
  // milliseconds.
  const int64_t spots = bytes > kSpots * kSpotBytes ? kSpots : 1;
  const int64_t spot_bytes = spots > 1 ? kSpotBytes : bytes;
  double found = 0;
  double touched = 0;
  for (int64_t spot = 0; spot < spots; ++spot) {
    const int64_t begin = offset + (bytes - spot_bytes) / std::max<int64_t>(spots - 1, 1) * spot;
    const int64_t pages = cached_pages(descriptor(), begin, spot_bytes);
    if (pages < 0) return std::nullopt;
    found += static_cast<double>(pages);
    touched += static_cast<double>(pages_touched(begin, spot_bytes));
  }
  return std::min(1.0, found / touched);
}

int64_t OpenFile::read_cached(const Transfer& piece) const {
  const struct iovec whole = {piece.data, static_cast<size_t>(piece.bytes)};
  return ::preadv2(descriptor(), &whole, 1, piece.offset, RWF_NOWAIT);
}

// A hint: if it fails, the read reports the error.
void OpenFile::will_need(int64_t offset, int64_t bytes) const {
  static_cast<void>(posix_fadvise(descriptor(), offset, bytes, POSIX_FADV_WILLNEED));
}

// A hint: a kernel that ignores it continues as before.
void OpenFile::set_readahead(bool wanted) const {
  posix_fadvise(descriptor(), 0, 0, wanted ? POSIX_FADV_NORMAL : POSIX_FADV_RANDOM);
}

// A hint, too: the sync writes the rest, and reports errors.
void OpenFile::begin_write_back(int64_t offset, int64_t bytes) const {
  swath::begin_write_back(descriptor(), offset, bytes);
}

void OpenFile::resize(int64_t bytes) {
  const std::string what = "resize " + path_ + " to " + std::to_string(bytes) + " bytes";
  if (bytes < 0) fail_argument(what + ": expected a size >= 0");
  const int error = error_of(faults_.get(), Step::kResize, [&] { return ::ftruncate(descriptor(), bytes); });
  if (error != 0) fail_store(what, error);
}

void OpenFile::allocate(int64_t bytes) {
  const std::string what = "allocate the first " + std::to_string(bytes) + " bytes of " + path_;
  if (bytes < 0) fail_argument(what + ": expected a size >= 0");
  if (bytes == 0) return;  // which posix_fallocate refuses
  const int error = error_of(faults_.get(), Step::kResize, [&] {
    errno = posix_fallocate(descriptor(), 0, bytes);
    return errno == 0 ? 0 : -1;
  });
  if (error != 0) fail_store(what, error);
}

void OpenFile::sync() {
  const int error = error_of(faults_.get(), Step::kSync, [&] { return ::fsync(descriptor()); });
  if (error != 0) {
    fail_store("sync " + path_, error, " (what was written may not be on the medium: write it again elsewhere)");
  }
}

void OpenFile::fail_lock(Range range, int error) const {
  const std::string what = lock_text(path_, range.begin, range.end);
  if (error == EBADF) fail_store(what, error, " (a file opened for reading only cannot be locked for writing)");
  fail_store(what, error, " (use method=\"two-phase\", or a file system with open-file-description locks)");
}

OpenFile::Attempt OpenFile::try_lock(Range range, LockKind kind, Faults* faults) {
  const bool is_shared = kind == LockKind::kShared;
  const int error = error_of(faults, Step::kLock, [&] {
    return set_lock(descriptor(), F_OFD_SETLK, is_shared ? F_RDLCK : F_WRLCK, range.begin, range.end);
  });
  if (error == 0) return {true, std::make_unique<FileRangeLock>(shared_from_this(), range.begin, range.end)};
  if (error == EAGAIN || error == EACCES) return {};
  if (is_shared) return {true, nullptr};
  fail_lock(range, error);
}

// Called before `range` is locked exclusively.
OpenFile::Attempt OpenFile::try_end_leases(Range range) {
  const int error = lease_.end_leases(descriptor());
  if (error == EAGAIN) return {};
  const bool has_none = error == EINVAL || error == EOVERFLOW;  // no locks at such offsets: no leases
  if (error != 0 && !has_none) fail_lock(range, error);
  return {true, nullptr};
}

std::unique_ptr<RangeLock> OpenFile::lock(int64_t begin, int64_t end) {
  const Range range{begin, end};
  check_range(path_, begin, end);
  constexpr Range kLease{WriteLease::kLeaseByte, WriteLease::kLeaseByte + 1};
  if (!try_end_leases(range).is_over) wait_for(range, kLease, [&] { return try_end_leases(range); });
  return lock_range(range, LockKind::kExclusive);
}

std::unique_ptr<RangeLock> OpenFile::lock_shared(int64_t begin, int64_t end) {
  if (!other_writers_) return nullptr;
  check_range(path_, begin, end);
  // No leases in a simulation: simulated time does not wait for the thread that gives leases back.
  const bool is_leased = !clock_of_thread().simulated() && lease_.enter(descriptor());
  if (is_leased) return std::make_unique<LeasedWrite>(shared_from_this(), lease_);
  return lock_range({begin, end}, LockKind::kShared);
}

std::unique_ptr<RangeLock> OpenFile::lock_range(Range range, LockKind kind) {
  if (Attempt first = try_lock(range, kind, faults_.get()); first.is_over) return std::move(first.lock);
  return wait_for(range, range, [&] { return try_lock(range, kind, nullptr); });
}

// Repeats attempts until one is over. `range` is the range to lock, `held` the one that another process holds.
std::unique_ptr<RangeLock> OpenFile::wait_for(Range range, Range held, const std::function<Attempt()>& attempt) {
  Clock& clock = clock_of_thread();
  const double asked_at = clock.now();
  bool has_told = clock.simulated();  // no notice in a simulation: the holder is a rank of this process
  while (true) {
    check_interrupt();
    const double waited = clock.now() - asked_at;
    if (waited >= lock_timeout_seconds_) fail_lock_timeout(range, held, waited);
    if (!has_told && waited >= kLockToldAfterSeconds) {
      has_told = true;
      notify(lock_text(path_, range.begin, range.end) + ": waiting for " +
             holders_text(descriptor(), held.begin, held.end));
    }
    const double pause_max = waited < kLockAtFirstSeconds ? kLockPauseSecondsAtFirst : kLockPauseSecondsMax;
    const double pause = std::clamp(waited / 4, kLockPauseSecondsMin, pause_max);
    clock.sleep_until(asked_at + std::min(waited + pause, lock_timeout_seconds_));
    if (Attempt next = attempt(); next.is_over) return std::move(next.lock);
  }
}

void OpenFile::fail_lock_timeout(Range range, Range held, double waited_seconds) const {
  fail_store(lock_text(path_, range.begin, range.end), ETIMEDOUT,
             " after " + in_seconds(waited_seconds) + " (lock_timeout) of waiting for " +
                 holders_text(descriptor(), held.begin, held.end) +
                 "; end that program, or give a longer lock_timeout");
}

bool FileEngine::read_cached(const Transfer& piece, Counters& counters) {
  if (file_->faults() != nullptr || file_->read_cached(piece) < piece.bytes) return false;
  ++counters.read_requests;
  counters.read_bytes += piece.bytes;
  return true;
}

void fail_already_started(const std::string& path) {
  throw Error(ErrorKind::kInternal, "start on " + path + ": a batch is under way already; wait() for it first");
}

}  // namespace swath
