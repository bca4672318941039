// A queue of background jobs: one thread, made for the first job, runs them one after another.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace swath::mpi_io {

class JobQueue {
 public:
  // Runs the jobs that were added.
  ~JobQueue();
  JobQueue() = default;
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // `job` must not throw. If the system has no thread for it, add() runs it.
  void add(std::function<void()> job);
  // Returns when all earlier jobs are done.
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
