// One thread that does one job at a time and sleeps in between.
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
  ~Background();  // finishes the job under way; its error is lost
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // A job was started and not yet waited for.
  bool busy() const { return busy_; }
  // Only where not busy(). The thread is made on first use. Where the caller may be told to stop (base/interrupt.h),
  // so may the job: by wait().
  void start(std::function<void()> job);
  // Returns when the job is done and throws what it threw; at once where not busy(). Told to stop meanwhile, it stops
  // the job, and throws when that has ended.
  void wait();

 private:
  void run();
  // Whether the job is done, after a wait that is never long.
  bool wait_a_while(std::unique_lock<std::mutex>& guard);
  void finish(std::unique_lock<std::mutex>& guard);

  bool busy_ = false;  // the caller's side only
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  // empty: done, or none
  std::exception_ptr error_;
  bool closing_ = false;
  bool may_stop_ = false;
  std::atomic<bool> stops_ = false;
};

}  // namespace swath
