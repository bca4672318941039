// Queue of the operations in the background, in the order in which they were started.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "array/execution.h"
#include "base/fork.h"
#include "base/per_process.h"

namespace swath {

// Queue of jobs that return an Execution. One thread carries them out one after another; it ends a moment after the
// last job. Where no thread is allowed, the caller that waits for a job carries it out.
class BackgroundQueue {
 public:
  using Job = std::function<Execution()>;

  // A job and its result.
  class Started {
   public:
    // If true, the job is destroyed with all that it held, and the methods below may be called.
    bool is_done() const { return is_done_.load(std::memory_order_acquire); }
    // Throws what the job threw.
    const Execution& execution() const;
    // When it ran, in seconds of the monotonic clock.
    double began() const { return began_; }
    double ended() const { return ended_; }

   private:
    friend class BackgroundQueue;

    void carry_out();
    void carry_out_unless_stopped();

    Job job_;
    bool may_stop_ = false;
    bool is_word_ = false;
    bool has_begun_ = false;
    std::atomic<bool> stops_ = false;
    std::optional<Execution> execution_;
    std::exception_ptr error_;
    double began_ = 0;
    double ended_ = 0;
    std::atomic<bool> is_done_ = false;
    const uint64_t made_in_ = fork_generation();
  };

  struct How {
    bool by_thread = true;  // false: deferred, as are all jobs that are started before it is done
    bool may_stop = false;  // it may be stopped: no other rank takes part
    bool is_word = false;   // a message to other ranks, which they may receive later: finish() does not wait for it
  };

  // A job that was carried out at once, perhaps with an error.
  static std::shared_ptr<Started> done_at_once(const Job& job);
  // Never waits for the jobs before it.
  std::shared_ptr<Started> start(Job job, How how);
  // Starts a job and waits for it; the caller carries it out if the queue is empty.
  std::shared_ptr<Started> start_and_wait(const Job& job, How how);
  // Returns when the job is done. An interrupt (base/interrupt.h) ends the wait with its own error; the job continues.
  // Throws Error{kArgument} in a forked child of the process that started the job: it does not run there.
  void wait(const std::shared_ptr<Started>& one);
  // The result is not needed, and its memory is about to be freed. A job that may stop is stopped, or never begun.
  // Returns when the job is done, unless it is deferred and shared with other ranks: then it stays deferred, and must
  // hold its memory itself. Does nothing in a forked child.
  void cancel(const std::shared_ptr<Started>& one) noexcept;
  // Returns when all jobs started before are done, except messages. Errors of jobs stay with the jobs. An interrupt
  // ends the wait with its own error. Returns at once in a forked child.
  void finish();
  // The same for deferred jobs, which no thread carries out.
  void finish_deferred();
  bool is_under_way();
  // Carries out the queued jobs, and drops the deferred ones. No job can be started afterwards.
  void end();

 private:
  using Queue = std::deque<std::shared_ptr<Started>>;

  struct State {
    // Wakes the thread, or starts one.
    void look_into_queue();
    void go_on_without_thread(const std::shared_ptr<Started>& one);
    void run();
    bool carry_out_here(const std::shared_ptr<Started>& one);
    void carry_out_first(std::unique_lock<std::mutex>& guard);
    // Carries out the deferred jobs up to `last`; null: all.
    void carry_out_deferred(const Started* last);
    std::shared_ptr<Started> first_deferred();

    std::mutex mutex;
    std::condition_variable changed;
    Queue queue;  // the first one is being carried out
    Queue deferred;
    std::atomic<bool> has_deferred = false;
    std::mutex deferring;  // held by the thread that carries out deferred jobs
    std::thread thread;
    std::condition_variable queued;  // wakes the thread
    bool has_thread = false;         // the thread will look into the queue once more
    bool ends = false;
  };

  PerProcess<State> state_;
};

}  // namespace swath
