#include "array/background_queue.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "array/background_jobs.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress_hook.h"
#include "base/thread.h"

namespace swath {
namespace {

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// How long an idle thread waits for further jobs, so that frequent jobs do not each start a thread. For rare jobs the
// cost of a new thread does not matter.
constexpr auto kLingers = std::chrono::milliseconds(50);

std::atomic<int64_t> jobs_of_process = 0;  // that exist in this process

template <typename Job>
std::shared_ptr<Job> new_job() {
  ++jobs_of_process;
  return std::shared_ptr<Job>(new Job, [](const Job* done) {
    delete done;
    --jobs_of_process;
  });
}

}  // namespace

bool may_have_background_jobs() { return jobs_of_process > 0; }

// ---- one job --------------------------------------------------------------------------------------------------------

const Execution& BackgroundQueue::Started::execution() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
  return *execution_;
}

void BackgroundQueue::Started::carry_out() {
  began_ = monotonic_seconds();
  try {
    execution_ = job_();
  } catch (...) {
    error_ = std::current_exception();
  }
  ended_ = monotonic_seconds();
  job_ = nullptr;  // before other threads see that it is done
}

// Runs in a thread that receives no other interrupts.
void BackgroundQueue::Started::carry_out_unless_stopped() {
  std::optional<InterruptScope> scope;
  if (may_stop_) {
    scope.emplace([this] { return stops_.load(); });
    job_ = [job = std::move(job_)] {
      check_interrupt_now();
      return job();
    };
  }
  carry_out();
}

std::shared_ptr<BackgroundQueue::Started> BackgroundQueue::done_at_once(const Job& job) {
  auto one = new_job<Started>();
  one->job_ = job;
  one->carry_out();
  one->is_done_ = true;
  return one;
}

// ---- the queue ------------------------------------------------------------------------------------------------------

std::shared_ptr<BackgroundQueue::Started> BackgroundQueue::start(Job job, How how) {
  State& state = state_.get();
  auto one = new_job<Started>();
  one->job_ = std::move(job);
  one->may_stop_ = how.may_stop;
  one->is_word_ = how.is_word;
  const std::lock_guard guard(state.mutex);
  if (!how.by_thread || !state.deferred.empty()) {
    state.deferred.push_back(one);
    state.has_deferred = true;
    return one;
  }
  state.queue.push_back(one);
  try {
    state.look_into_queue();
  } catch (const Error&) {
    state.go_on_without_thread(one);
  }
  return one;
}

std::shared_ptr<BackgroundQueue::Started> BackgroundQueue::start_and_wait(const Job& job, How how) {
  auto one = new_job<Started>();
  one->job_ = job;
  if (how.by_thread && state_.get().carry_out_here(one)) return one;
  one = start(job, how);
  wait(one);
  return one;
}

void BackgroundQueue::State::look_into_queue() {
  if (has_thread) {
    queued.notify_one();
    return;
  }
  if (thread.joinable()) thread.join();  // it has ended
  thread = start_thread([this] { run(); });
  has_thread = true;
}

// The system can start no more threads. Other ranks may take part in the job, so it is carried out all the same: by the
// caller that carries out the first job now, or by the caller that waits for it.
void BackgroundQueue::State::go_on_without_thread(const std::shared_ptr<Started>& one) {
  if (queue.size() > 1) return;
  queue.pop_back();
  deferred.push_back(one);
  has_deferred = true;
}

void BackgroundQueue::State::run() {
  std::unique_lock guard(mutex);
  while (true) {
    const auto has_work = [this] { return !queue.empty() && !queue.front()->has_begun_; };
    if (has_work()) {
      carry_out_first(guard);
    } else if (!queue.empty()) {
      queued.wait(guard);  // a caller carries out the first job
    } else if (ends || !queued.wait_for(guard, kLingers, [&] { return ends || !queue.empty(); })) {
      break;
    }
  }
  has_thread = false;
}

void BackgroundQueue::State::carry_out_first(std::unique_lock<std::mutex>& guard) {
  const std::shared_ptr<Started> one = queue.front();
  one->has_begun_ = true;
  guard.unlock();
  one->carry_out_unless_stopped();
  guard.lock();
  queue.pop_front();
  one->is_done_.store(true, std::memory_order_release);
  changed.notify_all();
}

// Returns false if the queue is not empty.
bool BackgroundQueue::State::carry_out_here(const std::shared_ptr<Started>& one) {
  std::unique_lock guard(mutex);
  if (!queue.empty() || !deferred.empty()) return false;
  queue.push_back(one);
  carry_out_first(guard);
  try {
    if (has_thread || !queue.empty()) look_into_queue();  // other threads may have added jobs meanwhile
  } catch (...) {
    while (!queue.empty()) carry_out_first(guard);  // otherwise their waiting threads would wait for ever
  }
  return true;
}

std::shared_ptr<BackgroundQueue::Started> BackgroundQueue::State::first_deferred() {
  const std::lock_guard guard(mutex);
  if (deferred.empty()) return nullptr;
  deferred.front()->has_begun_ = true;
  return deferred.front();
}

// A job stays in the queue until it is done, so that no other starts at the same time.
void BackgroundQueue::State::carry_out_deferred(const Started* last) {
  if (!has_deferred) return;
  const std::lock_guard in_order(deferring);
  while (last == nullptr || !last->is_done()) {
    const std::shared_ptr<Started> one = first_deferred();
    if (one == nullptr) return;
    one->carry_out();
    const std::lock_guard guard(mutex);
    deferred.pop_front();
    has_deferred = !deferred.empty();
    one->is_done_.store(true, std::memory_order_release);
    changed.notify_all();
  }
}

void BackgroundQueue::wait(const std::shared_ptr<Started>& one) {
  if (one->is_done()) return;
  if (one->made_in_ != fork_generation()) {
    fail_argument("this operation was started by the process that this one was forked from: start it here");
  }
  State& state = state_.get();
  state.carry_out_deferred(one.get());
  std::unique_lock guard(state.mutex);
  while (!one->is_done()) wait_interruptibly(state.changed, guard);
}

void BackgroundQueue::cancel(const std::shared_ptr<Started>& one) noexcept {
  if (one->is_done() || one->made_in_ != fork_generation()) return;
  one->stops_ = true;
  Job given_up;  // destroyed after the lock is released
  State& state = state_.get();
  std::unique_lock guard(state.mutex);
  if (!one->has_begun_ && one->may_stop_) {
    std::erase(state.queue, one);
    std::erase(state.deferred, one);
    state.has_deferred = !state.deferred.empty();
    given_up.swap(one->job_);
    one->error_ = std::make_exception_ptr(Error(ErrorKind::kInterrupted, "interrupted", EINTR));
    one->is_done_.store(true, std::memory_order_release);
    state.changed.notify_all();
  } else if (one->has_begun_ || std::ranges::find(state.deferred, one) == state.deferred.end()) {
    while (!one->is_done()) wait_with_progress(state.changed, guard);
  }
}

void BackgroundQueue::finish() {
  State& state = state_.get();
  state.carry_out_deferred(nullptr);
  std::unique_lock guard(state.mutex);
  const auto has_work = [&] { return !std::ranges::all_of(state.queue, &Started::is_word_); };
  while (has_work()) wait_interruptibly(state.changed, guard);
}

void BackgroundQueue::finish_deferred() { state_.get().carry_out_deferred(nullptr); }

bool BackgroundQueue::is_under_way() {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  return !state.queue.empty();
}

void BackgroundQueue::end() {
  State& state = state_.get();
  {
    const std::lock_guard guard(state.mutex);
    state.ends = true;
    state.queued.notify_all();
  }
  if (state.thread.joinable()) state.thread.join();
  state.deferred.clear();
}

}  // namespace swath
