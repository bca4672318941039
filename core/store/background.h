// One thread that runs one job at a time and sleeps in between.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace swath {

class Background {
 public:
  Background() = default;
  ~Background();  // finishes the running job; its error is lost
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // A job was started and not yet waited for.
  bool busy() const { return busy_; }
  // Requires !busy(). The thread is made on first use. If the caller is interruptible (base/interrupt.h), wait() can
  // stop the job.
  void start(std::function<void()> job);
  // Returns when the job is done, and throws its error; returns at once if not busy(). An interrupt stops the job; then
  // throws when the job has ended.
  void wait();

 private:
  void run();
  // Waits for a short time; true if the job is done.
  bool wait_a_while(std::unique_lock<std::mutex>& guard);
  void finish(std::unique_lock<std::mutex>& guard);

  bool busy_ = false;  // used by the caller only
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  // empty: no job to run
  std::exception_ptr error_;
  bool closing_ = false;
  bool may_stop_ = false;
  std::atomic<bool> stops_ = false;
};

}  // namespace swath
