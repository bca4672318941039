#include "mpi_io/job_queue.h"

#include <utility>

#include "base/error.h"
#include "base/progress_hook.h"
#include "base/thread.h"

namespace swath::mpi_io {

JobQueue::~JobQueue() {
  {
    const std::lock_guard guard(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void JobQueue::add(std::function<void()> job) {
  if (!has_thread()) return job();
  const std::lock_guard guard(mutex_);
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

bool JobQueue::has_thread() {
  const std::lock_guard guard(mutex_);
  try {
    if (!thread_.joinable()) thread_ = start_thread([this] { work(); });
  } catch (const Error&) {
    return false;  // the system has no more
  }
  return true;
}

void JobQueue::finish() {
  std::unique_lock lock(mutex_);
  while (!jobs_.empty() || is_working_) wait_with_progress(changed_, lock);
}

void JobQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    is_working_ = true;
    lock.unlock();
    job();
    job = nullptr;  // the job's resources, perhaps the last reference to this queue's owner, are freed before a waiting
                    // thread wakes
    lock.lock();
    is_working_ = false;
    changed_.notify_all();
  }
}

}  // namespace swath::mpi_io
