#include "store/background.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/interrupt.h"
#include "base/thread.h"

namespace swath {

Background::~Background() {
  {
    std::lock_guard guard(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::start(std::function<void()> job) {
  if (!thread_.joinable()) thread_ = start_thread([this] { run(); });
  {
    std::lock_guard guard(mutex_);
    job_ = std::move(job);
    error_ = nullptr;
    may_stop_ = is_interruptible();
    stops_ = false;
  }
  busy_ = true;
  changed_.notify_all();
}

void Background::wait() {
  if (!busy_) return;
  std::unique_lock guard(mutex_);
  // Checks for an interrupt before each wait: with many short jobs no single wait is long.
  for (bool is_done = false; is_interruptible() && !is_done; is_done = wait_a_while(guard)) {
    guard.unlock();
    try {
      check_interrupt();
    } catch (...) {
      stops_ = true;
      guard.lock();
      finish(guard);
      error_ = nullptr;
      throw;
    }
    guard.lock();
  }
  finish(guard);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool Background::wait_a_while(std::unique_lock<std::mutex>& guard) {
  return changed_.wait_for(guard, std::chrono::duration<double>(kLookUpSeconds), [this] { return !job_; });
}

void Background::finish(std::unique_lock<std::mutex>& guard) {
  changed_.wait(guard, [this] { return !job_; });
  busy_ = false;
}

void Background::run() {
  std::unique_lock guard(mutex_);
  while (true) {
    changed_.wait(guard, [this] { return job_ || closing_; });
    if (!job_) return;
    const bool may_stop = may_stop_;
    guard.unlock();
    std::exception_ptr error;
    try {
      std::optional<InterruptScope> scope;
      if (may_stop) scope.emplace([this] { return stops_.load(); });
      job_();
    } catch (...) {
      error = std::current_exception();
    }
    guard.lock();
    error_ = error;
    job_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace swath
