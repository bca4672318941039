#include "store/write_lease.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/thread.h"

namespace swath {
namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr auto kLookEvery = std::chrono::milliseconds(10);
// The time for which a writer uses range locks after it was refused the lease, before it asks again.
constexpr auto kAskAgainAfter = std::chrono::milliseconds(100);

int byte_lock(int descriptor, int command, short& type, int64_t byte) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  int result = 0;
  do {
    result = ::fcntl(descriptor, command, &range);
  } while (result != 0 && errno == EINTR);
  type = range.l_type;
  return result == 0 ? 0 : errno;
}

// 0, EAGAIN if another process has it, or the errno of the failed lock.
int try_lock_byte(int descriptor, short type, int64_t byte) {
  const int error = byte_lock(descriptor, F_OFD_SETLK, type, byte);
  return error == EACCES ? EAGAIN : error;
}

void unlock_byte(int descriptor, int64_t byte) { try_lock_byte(descriptor, F_UNLCK, byte); }

// True also if it cannot be found out.
bool others_fill(int descriptor) {
  short type = F_WRLCK;
  return byte_lock(descriptor, F_OFD_GETLK, type, WriteLease::kFillingByte) != 0 || type != F_UNLCK;
}

}  // namespace

// The lease of one process on one open file. The mutex guards everything but the two atomics.
class WriteLease::State : public std::enable_shared_from_this<State> {
 public:
  // The cost of a write with a lease: these two calls.
  bool has_entered() {
    if ((writes_.fetch_add(kOneWrite) & kLeased) == 0) {
      leave();
      return false;
    }
    if (!is_used_.load(std::memory_order_relaxed)) is_used_.store(true, std::memory_order_relaxed);
    return true;
  }
  void leave() {
    if (writes_.fetch_sub(kOneWrite) == kOneWrite) give_back_if_ending();
  }

  // Returns true if the lease is there now.
  bool take(int descriptor);
  int end_leases(int descriptor);
  // Called by the keeper; returns false when the lease has ended.
  bool look();
  void close() {
    const std::lock_guard guard(mutex_);
    phase_ = Phase::kClosed;
  }

 private:
  enum class Phase {
    kNone,
    kHeld,
    kEnding,  // writes that began under the lease are in progress; the last of them gives it back
    kClosed,
  };
  static constexpr int64_t kLeased = 1;    // flag in writes_: further writes may begin under the lease
  static constexpr int64_t kOneWrite = 2;  // added for each write in progress

  int try_take(int descriptor) const;
  void begin_to_end();
  void give_back_if_ending() {
    const std::lock_guard guard(mutex_);
    give_back_if_unused();
  }
  void give_back_if_unused() {
    if (phase_ != Phase::kEnding || writes_.load() != 0) return;
    unlock_byte(descriptor_, kLeaseByte);
    phase_ = Phase::kNone;
  }

  std::atomic<int64_t> writes_{0};
  std::atomic<bool> is_used_{false};  // since the keeper's last check
  std::mutex mutex_;
  Phase phase_ = Phase::kNone;
  int descriptor_ = -1;
  Time ask_again_at_ = Time::min();
  bool fills_ = false;     // it has the byte that says so
  bool is_alone_ = false;  // true: and no process has a lease any more
};

// The thread that checks the leases of this process. It sleeps while there are none.
class WriteLease::Keeper {
 public:
  // Throws Error{kStore} if the system has no more threads.
  void add(std::shared_ptr<State> state) {
    const std::lock_guard guard(mutex_);
    if (!has_thread_) start_thread([this] { work(); }).detach();
    has_thread_ = true;
    leases_.push_back(std::move(state));
    changed_.notify_one();
  }

 private:
  [[noreturn]] void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !leases_.empty(); });
      auto now = std::exchange(leases_, {});
      lock.unlock();
      std::this_thread::sleep_for(kLookEvery);
      std::erase_if(now, [](const auto& state) { return !state->look(); });
      lock.lock();
      leases_.insert(leases_.end(), now.begin(), now.end());
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_thread_ = false;
  std::vector<std::shared_ptr<State>> leases_;
};

// Never destroyed: its thread runs until the process ends.
WriteLease::Keeper& WriteLease::keeper() {
  static auto& keeper = *new PerProcess<Keeper>();
  return keeper.get();
}

int WriteLease::State::try_take(int descriptor) const {
  if (fills_ || others_fill(descriptor)) return EAGAIN;
  if (const int error = try_lock_byte(descriptor, F_RDLCK, kLeaseByte); error != 0) return error;
  if (!others_fill(descriptor)) return 0;
  unlock_byte(descriptor, kLeaseByte);
  return EAGAIN;
}

bool WriteLease::State::take(int descriptor) {
  const std::lock_guard guard(mutex_);
  if (phase_ != Phase::kNone) return phase_ == Phase::kHeld;
  const Time now = std::chrono::steady_clock::now();
  if (now < ask_again_at_) return false;
  ask_again_at_ = now + kAskAgainAfter;
  if (try_take(descriptor) != 0) return false;
  try {
    keeper().add(shared_from_this());
  } catch (const Error&) {
    unlock_byte(descriptor, kLeaseByte);  // no thread could give it back in time
    return false;
  }
  ask_again_at_ = Time::min();
  descriptor_ = descriptor;
  phase_ = Phase::kHeld;
  writes_.fetch_or(kLeased);
  return true;
}

void WriteLease::State::begin_to_end() {
  phase_ = Phase::kEnding;
  writes_.fetch_and(~kLeased);
  give_back_if_unused();
}

int WriteLease::State::end_leases(int descriptor) {
  const std::lock_guard guard(mutex_);
  if (is_alone_) return 0;
  if (const int error = try_lock_byte(descriptor, F_RDLCK, kFillingByte); error != 0) return error;
  fills_ = true;
  if (phase_ == Phase::kHeld) begin_to_end();
  if (phase_ == Phase::kEnding) return EAGAIN;
  if (const int error = try_lock_byte(descriptor, F_WRLCK, kLeaseByte); error != 0) return error;
  unlock_byte(descriptor, kLeaseByte);
  is_alone_ = true;
  return 0;
}

bool WriteLease::State::look() {
  const std::lock_guard guard(mutex_);
  if (phase_ != Phase::kHeld) return false;
  const bool is_used = is_used_.exchange(false) || writes_.load() >= kOneWrite;
  const bool is_wanted = others_fill(descriptor_);
  if (is_wanted) ask_again_at_ = std::chrono::steady_clock::now() + kAskAgainAfter;
  if (is_used && !is_wanted) return true;
  begin_to_end();
  return false;
}

WriteLease::Shared::Shared() : state(std::make_shared<State>()) {}

WriteLease::~WriteLease() { shared_.get().state->close(); }

bool WriteLease::enter(int descriptor) {
  State& state = *shared_.get().state;
  return state.has_entered() || (state.take(descriptor) && state.has_entered());
}

void WriteLease::leave() { shared_.get().state->leave(); }

int WriteLease::end_leases(int descriptor) { return shared_.get().state->end_leases(descriptor); }

}  // namespace swath
