#include "engine/background.h"

#include <csignal>
#include <utility>

namespace swath {

namespace {

// A library's thread must not be the one that runs the program's signal handlers.
std::thread start_without_signals(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread(std::move(body));
}

}  // namespace

Background::~Background() {
  {
    std::lock_guard guard(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::start(std::function<void()> job) {
  if (!thread_.joinable()) thread_ = start_without_signals([this] { run(); });
  {
    std::lock_guard guard(mutex_);
    job_ = std::move(job);
    error_ = nullptr;
  }
  busy_ = true;
  changed_.notify_all();
}

void Background::wait() {
  if (!busy_) return;
  std::unique_lock guard(mutex_);
  changed_.wait(guard, [this] { return !job_; });
  busy_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Background::run() {
  std::unique_lock guard(mutex_);
  while (true) {
    changed_.wait(guard, [this] { return job_ || closing_; });
    if (!job_) return;
    guard.unlock();
    std::exception_ptr error;
    try {
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
