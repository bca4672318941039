// One open file, and what every engine that has one does alike: size, locks, sync.
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

// The system's own words for an errno value.
std::string system_message(int error);

// What may be opened: what has byte offsets.
enum class Openable { kRegularFiles, kRegularFilesAndBlockDevices };

// The descriptor of an existing file below a folder (or AT_FDCWD), or -errno; -EISDIR of a folder, -ESPIPE of whatever
// else has no byte offsets: a pipe, socket, terminal. Never waits for somebody at the other end of a pipe.
int open_existing(int folder, const std::string& path, int flags, Openable openable);
// To be said after such an error: what was expected.
const char* expected_instead(int error, Openable openable);

// Of all engines that use it, in any thread. A forked child shares no open file description with its parent, whose
// locks would not exclude it: it opens the file anew when it uses it first, the same one even where its name is gone.
class OpenFile : public std::enable_shared_from_this<OpenFile> {
 public:
  // `faults` (may be null) breaks chosen steps. Throws Error{kStore}: what the system refuses, and what has no byte
  // offsets (a directory, pipe or terminal), which would fail later or hang.
  OpenFile(const std::string& path, OpenMode mode, std::unique_ptr<Faults> faults);
  // Of a file that is open already.
  OpenFile(Descriptor file, std::string path, OpenMode mode, std::unique_ptr<Faults> faults);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // Throws Error{kStore} where a forked child is refused the file.
  int descriptor() const {
    if (opened_in_.load(std::memory_order_acquire) != fork_generation()) open_again();
    return descriptor_;
  }
  const std::string& path() const { return path_; }
  Faults* faults() const { return faults_.get(); }

  int64_t size() const;
  std::optional<double> cached_part(int64_t offset, int64_t bytes) const;
  // Whether the kernel tells what is cached of this file.
  bool reports_cached() const { return cached_part(0, 1).has_value(); }
  // See Engine::read_cached: how many bytes of it there were, or -1.
  int64_t read_cached(const Transfer& piece) const;
  void will_need(int64_t offset, int64_t bytes) const;
  void set_readahead(bool wanted) const;
  // Of all engines of this file; see Engine::set_write_behind.
  void set_write_behind(bool wanted) { write_behind_ = wanted; }
  bool write_behind() const { return write_behind_; }
  // Has the kernel begin to write [offset, offset + bytes) to the device; waits for nothing but room in its queue.
  void begin_write_back(int64_t offset, int64_t bytes) const;
  void resize(int64_t bytes);
  void allocate(int64_t bytes);
  void sync();
  // The lock keeps the file open, so that it may outlive the engine. It excludes other open files: of other processes,
  // and of this one. Nothing excludes those who have this one, whichever engine they use: the kernel knows one holder,
  // whose lock on a range takes the place of what it held of it before, and is gone as soon as anyone lets go of a
  // range that overlaps it. So one operation at a time writes into an open file (WriteOrder, array/file.h), and holds
  // no two locks that overlap.
  //
  // Who waits asks again and again, and sleeps between: the kernel's own wait could be neither bounded nor told of, and
  // in a simulation it would keep the one that has the lock from going on. Longer waits are told of (base/notice.h);
  // what takes longer than the timeout is an Error{kStore} with ETIMEDOUT.
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end);
  // Null where no other writers are to be expected, or the file system has no such locks: nobody fills in holes there.
  // Until somebody does, it is no lock on the range but a lease (store/write_lease.h), which costs no system call.
  std::unique_ptr<RangeLock> lock_shared(int64_t begin, int64_t end);
  void set_other_writers(bool expected) { other_writers_ = expected; }
  // Of each lock from now on; infinity, as at first: for ever.
  void set_lock_timeout(double seconds) { lock_timeout_seconds_ = seconds; }

 private:
  enum class LockKind { kExclusive, kShared };
  struct Attempt {
    bool is_over = false;  // false: somebody else has it now
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

// What posix and uring share.
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

  // "posix", or "fault(posix)" where faults are injected.
  std::string name_of(const std::string& kind) const {
    return file_->faults() == nullptr ? kind : "fault(" + kind + ")";
  }

  int64_t request_bytes_max(Direction direction) const {
    const bool in_parts = direction == Direction::kWrite && file_->write_behind();
    return in_parts ? std::min(request_bytes_max_, kWriteBehindBytes) : request_bytes_max_;
  }
  // To be told of every request that is complete.
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
