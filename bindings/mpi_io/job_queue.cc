#include "mpi_io/job_queue.h"

#include <csignal>
#include <utility>

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
  const std::lock_guard guard(mutex_);
  jobs_.push_back(std::move(job));
  if (!thread_.joinable()) {
    sigset_t all;  // signals are for the program's own threads
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { work(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  changed_.notify_all();
}

void JobQueue::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !is_working_; });
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
    job = nullptr;  // what it held, perhaps the last share of this queue's owner, goes before anybody is told
    lock.lock();
    is_working_ = false;
    changed_.notify_all();
  }
}

}  // namespace swath::mpi_io
