#include "chunks/workers.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "base/thread.h"

namespace swath {
namespace {

constexpr int kWorkersMax = 32;
constexpr double kWindowSeconds = 0.02;
constexpr int64_t kWindowTasks = 4;  // for each reader
constexpr double kSleepingPart = 0.5;
constexpr double kGain = 1.04;

int cores() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(CPU_COUNT(&allowed), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

// The tasks that are left, and the threads that take them.
class Pool {
 public:
  Pool(int64_t count, WorkerLimits limits, const std::function<int64_t(int64_t, Worker&)>& task,
       std::atomic<int64_t>* bytes_done, IdleWorkers* idle)
      : count_(count), task_(task), bytes_done_(bytes_done), idle_(idle), control_(limits) {}

  Counters run() {
    const Stopwatch watch;
    window_watch_ = watch;
    {
      const std::lock_guard lock(mutex_);
      add_threads();
    }
    work(true);
    wait_for_others();
    // No thread is added after this one has found no task.
    for (std::thread& thread : threads_) thread.join();
    if (error_ != nullptr) std::rethrow_exception(error_);
    counters_.total_seconds = watch.seconds();
    counters_.transfer_seconds /= std::max(workers_, 1);  // the average of the workers
    return counters_;
  }

 private:
  // With the mutex held.
  void add_threads() {
    while (running_ < control_.readers() - 1 && next_ + running_ + 1 < count_) {
      try {
        threads_.push_back(start_thread([this] { work_for_caller(); }));
      } catch (const Error&) {
        return;  // the system has no more threads: the others continue
      }
      ++running_;
    }
  }

  void work_for_caller() {
    std::optional<InterruptScope> scope;
    if (may_stop_) scope.emplace([this] { return stops_.load(); });
    work(false);
  }

  // Used instead of join(), which cannot be interrupted.
  void wait_for_others() {
    std::unique_lock lock(mutex_);
    const auto is_alone = [this] { return running_ == 0; };
    while (!left_.wait_for(lock, std::chrono::duration<double>(kLookUpSeconds), is_alone)) {
      lock.unlock();
      std::exception_ptr error;
      try {
        check_interrupt();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error != nullptr) stop(error);
    }
  }

  // With the mutex held: no other task begins.
  void stop(const std::exception_ptr& error) {
    if (error_ == nullptr) error_ = error;
    next_ = count_;
    stops_ = true;
  }

  void work(bool is_caller) {
    if (idle_ == nullptr) {
      Worker worker;
      work_as(worker, is_caller);
      return;
    }
    std::unique_ptr<Worker> worker = idle_->take();
    work_as(*worker, is_caller);
    idle_->give_back(std::move(worker));
  }

  void work_as(Worker& worker, bool is_caller) {
    double slept_before = worker.slept_seconds;
    std::unique_lock lock(mutex_);
    while (next_ < count_) {
      if (!is_caller && running_ > control_.readers() - 1) break;  // more readers than wanted
      const int64_t mine = next_++;
      lock.unlock();
      int64_t bytes = 0;
      std::exception_ptr error;
      try {
        check_interrupt();
        bytes = task_(mine, worker);
      } catch (...) {
        error = std::current_exception();
      }
      if (bytes_done_ != nullptr) *bytes_done_ += bytes;
      lock.lock();
      if (error != nullptr) stop(error);
      task_done(bytes, worker.slept_seconds - slept_before);
      slept_before = worker.slept_seconds;
    }
    if (!is_caller && --running_ == 0) left_.notify_all();
    ++workers_;
    const int64_t buffers = counters_.buffer_bytes + worker.buffer_bytes();
    counters_ += worker.counters;
    counters_.buffer_bytes = buffers;
  }

  // With the mutex held.
  void task_done(int64_t bytes, double slept_seconds) {
    window_bytes_ += bytes;
    window_slept_ += slept_seconds;
    if (++window_tasks_ < kWindowTasks * control_.readers()) return;
    const double seconds = window_watch_.seconds();
    if (seconds < kWindowSeconds) return;
    control_.window_over(static_cast<double>(window_bytes_) / seconds, window_slept_ / (seconds * (running_ + 1)));
    add_threads();
    window_watch_ = {};
    window_tasks_ = 0;
    window_bytes_ = 0;
    window_slept_ = 0;
  }

  const int64_t count_;
  const std::function<int64_t(int64_t, Worker&)>& task_;
  std::atomic<int64_t>* const bytes_done_;
  IdleWorkers* const idle_;

  std::mutex mutex_;
  ReaderControl control_;
  std::vector<std::thread> threads_;  // added to only while tasks are left, so never while the caller joins them
  const bool may_stop_ = is_interruptible();
  std::atomic<bool> stops_ = false;
  std::condition_variable left_;
  int64_t next_ = 0;
  int running_ = 0;  // besides the caller
  int workers_ = 0;
  std::exception_ptr error_;
  Counters counters_;
  Stopwatch window_watch_;
  int64_t window_tasks_ = 0;
  int64_t window_bytes_ = 0;
  double window_slept_ = 0;
};

}  // namespace

std::unique_ptr<Worker> IdleWorkers::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Worker>();
  std::unique_ptr<Worker> worker = std::move(idle_.back());
  idle_.pop_back();
  worker->counters = {};
  return worker;
}

void IdleWorkers::give_back(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

WorkerLimits worker_limits(int64_t worker_bytes, int64_t buffer_bytes_max, int ranks_of_node) {
  const auto allowed =
      static_cast<int>(std::clamp<int64_t>(buffer_bytes_max / std::max<int64_t>(worker_bytes, 1), 1, kWorkersMax));
  const int share = std::max(cores() / std::max(ranks_of_node, 1), 1);
  return {std::min(share, allowed), allowed};
}

void ReaderControl::window_over(double bytes_a_second, double sleeping_part) {
  if (changed_) {
    changed_ = false;
    return;
  }
  if (trying_) {
    trying_ = false;
    if (bytes_a_second < kGain * rate_before_) {
      readers_ = before_;
      changed_ = true;
      held_windows_ = hold_;
      hold_ *= 2;
      return;
    }
  }
  if (held_windows_ > 0) {
    --held_windows_;
    return;
  }
  if (sleeping_part < kSleepingPart || readers_ >= limits_.most) return;
  before_ = readers_;
  rate_before_ = bytes_a_second;
  readers_ = std::min(2 * readers_, limits_.most);
  trying_ = true;
  changed_ = true;
}

Counters run_tasks(int64_t count, WorkerLimits limits, const std::function<int64_t(int64_t, Worker&)>& task,
                   std::atomic<int64_t>* bytes_done, IdleWorkers* idle) {
  return Pool(count, limits, task, bytes_done, idle).run();
}

}  // namespace swath
