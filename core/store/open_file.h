// One open file, and what all engines of files share: size, locks, sync.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/fork.h"
#include "base/write_behind.h"
#include "store/engine.h"
#include "store/request.h"
#include "store/write_lease.h"

namespace swath {

class Faults;

// The system's text for an errno value.
std::string system_message(int error);

// The kinds of files that may be opened: they have byte offsets.
enum class Openable { kRegularFiles, kRegularFilesAndBlockDevices };

// The descriptor of an existing file below a folder (or AT_FDCWD), or -errno; -EISDIR for a folder, -ESPIPE for other
// files without byte offsets (pipe, socket, terminal). Never blocks on a pipe.
int open_existing(int folder, const std::string& path, int flags, Openable openable);
// The text after such an error: what was expected.
const char* expected_instead(int error, Openable openable);

// Shared by all engines that use it, in any thread. A forked child shares no open file description with its parent,
// since locks would not exclude the parent: it opens the file again at first use, even if its name is gone.
class OpenFile : public std::enable_shared_from_this<OpenFile> {
 public:
  // `faults` (may be null) breaks chosen steps. Throws Error{kStore}: for errors of the system, and for files without
  // byte offsets (a directory, pipe or terminal), which would fail later or hang.
  OpenFile(const std::string& path, OpenMode mode, std::unique_ptr<Faults> faults);
  // Takes over an open file.
  OpenFile(Descriptor file, std::string path, OpenMode mode, std::unique_ptr<Faults> faults);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Throws Error{kStore} if a forked child cannot open the file again.
  int descriptor() const {
    if (opened_in_.load(std::memory_order_acquire) != fork_generation()) open_again();
    return descriptor_;
  }
  const std::string& path() const { return path_; }
  Faults* faults() const { return faults_.get(); }

  int64_t size() const;
  std::optional<double> cached_part(int64_t offset, int64_t bytes) const;
  // True if the kernel reports which part of this file is cached.
  bool reports_cached() const { return cached_part(0, 1).has_value(); }
  // See Engine::read_cached: returns the bytes read, or -1.
  int64_t read_cached(const Transfer& piece) const;
  void will_need(int64_t offset, int64_t bytes) const;
  void set_readahead(bool wanted) const;
  // For all engines of this file; see Engine::set_write_behind.
  void set_write_behind(bool wanted) { write_behind_ = wanted; }
  bool write_behind() const { return write_behind_; }
  // The kernel starts to write [offset, offset + bytes) to the device; waits only for room in its queue.
  void begin_write_back(int64_t offset, int64_t bytes) const;
  void resize(int64_t bytes);
  void allocate(int64_t bytes);
  void sync();
  // The lock keeps the file open, so it may outlive the engine. It excludes other open files, of this and of other
  // processes. It does not exclude users of this open file, with whichever engine: the kernel sees one holder, whose
  // new lock on a range replaces its old one, and who loses the whole range at the first unlock that overlaps. So one
  // operation at a time writes to an open file (WriteOrder, array/file.h), and holds no two overlapping locks.
  //
  // A waiting thread polls, with sleeps in between: the kernel's own wait has no timeout and no notice, and would stop
  // the lock's holder in a simulation. Long waits give a notice (base/notice.h); after the timeout, Error{kStore} with
  // ETIMEDOUT.
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end);
  // Null if no other writers are expected, or if the file system has no such locks: then no writer fills holes there.
  // Until a writer fills holes, it is not a range lock but a lease (store/write_lease.h), which costs no system call.
  std::unique_ptr<RangeLock> lock_shared(int64_t begin, int64_t end);
  void set_other_writers(bool expected) { other_writers_ = expected; }
  // For all later locks; infinity (the default): no timeout.
  void set_lock_timeout(double seconds) { lock_timeout_seconds_ = seconds; }

 private:
  enum class LockKind { kExclusive, kShared };
  struct Attempt {
    bool is_over = false;  // false: it was moved from
    std::unique_ptr<RangeLock> lock;
  };

  struct Range {
    int64_t begin;
    int64_t end;
  };
  std::unique_ptr<RangeLock> lock_range(Range range, LockKind kind);
  Attempt try_lock(Range range, LockKind kind, Faults* faults);
  Attempt try_end_leases(Range range);
  std::unique_ptr<RangeLock> wait_for(Range range, Range held, const std::function<Attempt()>& attempt);
  [[noreturn]] void fail_lock(Range range, int error) const;
  [[noreturn]] void fail_lock_timeout(Range range, Range held, double waited_seconds) const;
  void open_again() const;

  const std::string path_;
  const OpenMode mode_;
  const std::unique_ptr<Faults> faults_;
  int descriptor_ = -1;  // the same number in a forked child
  mutable std::atomic<uint64_t> opened_in_{fork_generation()};
  std::atomic<bool> write_behind_{false};
  double lock_timeout_seconds_ = kNever;
  bool other_writers_ = false;
  WriteLease lease_;
};

// The common part of posix and uring.
class FileEngine : public Engine {
 public:
  const std::string& path() const override { return file_->path(); }
  Capabilities capabilities() const override {
    return {.read_ranges_max = IOV_MAX, .write_ranges_max = IOV_MAX, .reports_cached = file_->reports_cached()};
  }
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) override { return file_->lock(begin, end); }
  std::unique_ptr<RangeLock> lock_shared(int64_t begin, int64_t end) override { return file_->lock_shared(begin, end); }
  std::optional<double> cached_part(int64_t offset, int64_t bytes) const override {
    return file_->cached_part(offset, bytes);
  }
  bool read_cached(const Transfer& piece, Counters& counters) override;
  void will_need(int64_t offset, int64_t bytes) override { file_->will_need(offset, bytes); }
  void set_readahead(bool wanted) override { file_->set_readahead(wanted); }
  void set_write_behind(bool wanted) override { file_->set_write_behind(wanted); }
  int64_t size() const override { return file_->size(); }
  void resize(int64_t bytes) override { file_->resize(bytes); }
  void allocate(int64_t bytes) override { file_->allocate(bytes); }
  void sync() override { file_->sync(); }

 protected:
  FileEngine(std::shared_ptr<OpenFile> file, int64_t request_bytes_max)
      : file_(std::move(file)), request_bytes_max_(request_bytes_max) {}

  // "posix", or "fault(posix)" if faults are injected.
  std::string name_of(const std::string& kind) const {
    return file_->faults() == nullptr ? kind : "fault(" + kind + ")";
  }

  int64_t request_bytes_max(Direction direction) const {
    const bool in_parts = direction == Direction::kWrite && file_->write_behind();
    return in_parts ? std::min(request_bytes_max_, kWriteBehindBytes) : request_bytes_max_;
  }
  // Called for every completed request.
  void moved(Direction direction, const FileRequest& request) const {
    if (direction == Direction::kWrite && file_->write_behind() && request.bytes >= kWriteBehindBytesMin) {
      file_->begin_write_back(request.offset, request.bytes);
    }
  }

  const std::shared_ptr<OpenFile> file_;

 private:
  const int64_t request_bytes_max_;
};

// The Error for a start() while an earlier batch was not waited for.
[[noreturn]] void fail_already_started(const std::string& path);

}  // namespace swath
