// Work that goes on in the background: jobs are done one after another, by one thread that is made for the first.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace swath::mpi_io {

class JobQueue {
 public:
  // Does what was added.
  ~JobQueue();
  JobQueue() = default;
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // `job` must not throw. Where the system has no thread for it, it is done when this returns.
  void add(std::function<void()> job);
  // Returns when all jobs are done that were added before.
  void finish();

 private:
  bool has_thread();
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_working_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace swath::mpi_io
