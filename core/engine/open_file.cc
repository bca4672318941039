#include "engine/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "engine/fault.h"

namespace swath {

std::string system_message(int error) { return std::generic_category().message(error); }

namespace {

// Calls again while a signal interrupts; 0 or an errno value.
template <typename SystemCall>
int error_of(SystemCall call) {
  while (call() < 0) {
    if (errno != EINTR) return errno;
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

class FileRangeLock : public RangeLock {
 public:
  FileRangeLock(std::shared_ptr<OpenFile> file, int64_t begin, int64_t end)
      : file_(std::move(file)), begin_(begin), end_(end) {}
  ~FileRangeLock() override { set_lock(file_->descriptor(), F_OFD_SETLK, F_UNLCK, begin_, end_); }

 private:
  std::shared_ptr<OpenFile> file_;
  int64_t begin_;
  int64_t end_;
};

}  // namespace

int open_existing(int folder, const std::string& path, int flags, Openable openable) {
  // Without O_NONBLOCK the open of a pipe waits until somebody opens its other end.
  constexpr int kNeverWait = O_NONBLOCK | O_NOCTTY;
  int descriptor = -1;
  int error = error_of([&] { return descriptor = ::openat(folder, path.c_str(), flags | kNeverWait); });
  struct stat status = {};
  if (error == EWOULDBLOCK && ::fstatat(folder, path.c_str(), &status, 0) == 0 && S_ISREG(status.st_mode)) {
    // A file server holds a lease on it, which it gives up for whoever waits.
    error = error_of([&] { return descriptor = ::openat(folder, path.c_str(), flags); });
  }
  if (error == ENXIO) return -ESPIPE;  // a socket
  if (error != 0) return -error;
  error = ::fstat(descriptor, &status) != 0 ? errno : 0;
  const bool has_offsets =
      S_ISREG(status.st_mode) || (openable == Openable::kRegularFilesAndBlockDevices && S_ISBLK(status.st_mode));
  if (error == 0 && !has_offsets) error = S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
  // io_uring hands back what would wait for the device where the descriptor says so.
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

OpenFile::OpenFile(const std::string& path, OpenMode mode, std::unique_ptr<Faults> faults)
    : path_(path), faults_(std::move(faults)) {
  constexpr Openable kOpenable = Openable::kRegularFilesAndBlockDevices;
  if (mode == OpenMode::kCreateNew) {
    const int error = error_of([&] { return descriptor_ = ::open(path.c_str(), flags_of(mode), 0666); });
    if (error != 0) fail_store(open_text(path, mode), error);
    return;
  }
  descriptor_ = open_existing(AT_FDCWD, path, flags_of(mode), kOpenable);
  if (descriptor_ < 0) fail_store(open_text(path, mode), -descriptor_, expected_instead(-descriptor_, kOpenable));
}

OpenFile::~OpenFile() { ::close(descriptor_); }

int64_t OpenFile::size() const {
  const int64_t end = ::lseek(descriptor_, 0, SEEK_END);  // fstat says 0 for a block device
  if (end < 0) fail_store("size of " + path_, errno);
  return end;
}

namespace {

int64_t pages_touched(int64_t offset, int64_t bytes) {
  const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  return (offset + bytes - 1) / page_bytes - offset / page_bytes + 1;
}

// Pages of the range that are in the page cache; -1 where the kernel does not tell.
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
  // The kernel looks at every folio: of small ones, with cold caches, 4 MiB take 100 us, and a large file milliseconds.
  const int64_t spots = bytes > kSpots * kSpotBytes ? kSpots : 1;
  const int64_t spot_bytes = spots > 1 ? kSpotBytes : bytes;
  double found = 0;
  double touched = 0;
  for (int64_t spot = 0; spot < spots; ++spot) {
    const int64_t begin = offset + (bytes - spot_bytes) / std::max<int64_t>(spots - 1, 1) * spot;
    const int64_t pages = cached_pages(descriptor_, begin, spot_bytes);
    if (pages < 0) return std::nullopt;
    found += static_cast<double>(pages);
    touched += static_cast<double>(pages_touched(begin, spot_bytes));
  }
  return std::min(1.0, found / touched);
}

// Advice: a kernel that does not take it reads on as it likes.
void OpenFile::set_readahead(bool wanted) const {
  posix_fadvise(descriptor_, 0, 0, wanted ? POSIX_FADV_NORMAL : POSIX_FADV_RANDOM);
}

// Advice too: what is not begun here is written by the sync, which tells of errors.
void OpenFile::begin_write_back(int64_t offset, int64_t bytes) const {
  sync_file_range(descriptor_, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

void OpenFile::resize(int64_t bytes) {
  const std::string what = "resize " + path_ + " to " + std::to_string(bytes) + " bytes";
  if (bytes < 0) fail_argument(what + ": expected a size >= 0");
  const int error = error_of(faults_.get(), Step::kResize, [&] { return ::ftruncate(descriptor_, bytes); });
  if (error != 0) fail_store(what, error);
}

void OpenFile::sync() {
  const int error = error_of(faults_.get(), Step::kSync, [&] { return ::fsync(descriptor_); });
  if (error != 0) {
    fail_store("sync " + path_, error, " (what was written may not be on the medium: write it again elsewhere)");
  }
}

int OpenFile::attempt_lock(int command, int64_t begin, int64_t end) {
  const std::string what = "lock " + path_ + " [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  if (begin < 0 || begin >= end) fail_argument(what + ": expected 0 <= begin < end");
  const int error =
      error_of(faults_.get(), Step::kLock, [&] { return set_lock(descriptor_, command, F_WRLCK, begin, end); });
  if (command == F_OFD_SETLK && (error == EAGAIN || error == EACCES)) return EAGAIN;
  if (error == EBADF) fail_store(what, error, " (a file opened for reading only cannot be locked for writing)");
  if (error != 0) {
    fail_store(what, error, " (use method=\"two-phase\", or a file system with open-file-description locks)");
  }
  return 0;
}

std::unique_ptr<RangeLock> OpenFile::lock(int64_t begin, int64_t end) {
  attempt_lock(F_OFD_SETLKW, begin, end);
  return std::make_unique<FileRangeLock>(shared_from_this(), begin, end);
}

std::unique_ptr<RangeLock> OpenFile::try_lock(int64_t begin, int64_t end) {
  if (attempt_lock(F_OFD_SETLK, begin, end) != 0) return nullptr;
  return std::make_unique<FileRangeLock>(shared_from_this(), begin, end);
}

void fail_already_started(const std::string& path) {
  throw Error(ErrorKind::kInternal, "start on " + path + ": a batch is under way already; wait() for it first");
}

}  // namespace swath
