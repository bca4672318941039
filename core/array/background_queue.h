// Operations under way in the background: a queue, in the order in which they were started.
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

// Jobs that give an Execution: carried out one after another by one thread, which is there as long as there are any
// and a moment longer, or, where that may not be, by whoever waits for them.
class BackgroundQueue {
 public:
  using Job = std::function<Execution()>;

  // A job, and what comes of it.
  class Started {
   public:
    // Then the job is gone, with all that it held, and what follows may be asked for.
    bool is_done() const { return is_done_.load(std::memory_order_acquire); }
    // Throws what the job threw.
    const Execution& execution() const;
    // When it was carried out, in seconds of the monotonic clock.
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
    bool by_thread = true;  // else it is deferred, as are all that are started before it is done
    bool may_stop = false;  // when it is told to: no other rank takes part
    bool is_word = false;   // to other ranks, which may hear it later: finish() does not wait for it
  };

  // What has been carried out already, or has failed.
  static std::shared_ptr<Started> done_at_once(const Job& job);
  // Never waits for the jobs before it.
  std::shared_ptr<Started> start(Job job, How how);
  // The same, and returns when it is done: it is carried out by the caller where nothing is under way.
  std::shared_ptr<Started> start_and_wait(const Job& job, How how);
  // Returns when the job is done. Told to stop meanwhile (base/interrupt.h), it throws that, and the job goes on.
  // Throws Error{kArgument} in a forked child of the process that started it: it is not under way here.
  void wait(const std::shared_ptr<Started>& one);
  // For whoever no longer wants what comes of it, and takes its memory away: one that may stop is told to, or not
  // begun. Returns when it is done; but one that is deferred and shared with other ranks stays deferred, and must hold
  // its memory itself. Does nothing in a forked child.
  void cancel(const std::shared_ptr<Started>& one) noexcept;
  // Returns when all that was started before is done, but for words; what jobs threw is theirs. Told to stop, it throws
  // that. In a forked child nothing is under way.
  void finish();
  // The same of those that nobody else carries out.
  void finish_deferred();
  bool is_under_way();
  // Carries out what is queued, and drops what is deferred. Nothing is started any more.
  void end();

 private:
  using Queue = std::deque<std::shared_ptr<Started>>;

  struct State {
    // A thread does, which is there or is started now.
    void look_into_queue();
    void go_on_without_thread(const std::shared_ptr<Started>& one);
    void run();
    bool carry_out_here(const std::shared_ptr<Started>& one);
    void carry_out_first(std::unique_lock<std::mutex>& guard);
    // Carries out what is deferred, up to that one; null: all.
    void carry_out_deferred(const Started* last);
    std::shared_ptr<Started> first_deferred();

    std::mutex mutex;
    std::condition_variable changed;
    Queue queue;  // the first is being carried out
    Queue deferred;
    std::atomic<bool> has_deferred = false;
    std::mutex deferring;  // held by who carries them out
    std::thread thread;
    std::condition_variable queued;  // tells the thread
    bool has_thread = false;         // it looks into the queue once more
    bool ends = false;
  };

  PerProcess<State> state_;
};

}  // namespace swath
