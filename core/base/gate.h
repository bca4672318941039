// Who may use something now: any number of threads that share it, or one that has it alone, in the order in which they
// came, and those whom neither disturbs; until it is closed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/per_process.h"

namespace swath {

// Entering takes a mutex and waits only for those who stand in the way. In a forked child nobody is inside: its
// parent's threads do not exist there.
class Gate {
 public:
  enum class Use { kConcurrent, kShared, kAlone };

  // Waits for those that came before and cannot be in together with this one. False: it is closed. Waiting, here and in
  // close(), may be interrupted (base/interrupt.h), and is then as if it had not begun.
  bool enter(Use use);
  // The same, only where nobody has to be waited for; false: it is closed, or somebody has.
  bool try_enter(Use use);
  void leave(Use use);

  // A place in the order of those that come, taken now by whoever enters later, in another thread perhaps: who comes
  // after it waits for it as for one that waits. `ticket` 0: it is inside already.
  struct Reservation {
    Use use;
    uint64_t ticket;
  };
  // Never waits. Nothing: it is closed.
  std::optional<Reservation> reserve(Use use);
  // Waits as enter() does; interrupted, it still has the place. Once, and then leave().
  void enter(Reservation& reservation);
  // Gives up a place that was not entered, or leaves.
  void leave(const Reservation& reservation);
  // From now on nobody enters. Returns when all have left, those that waited to enter too. False: it was closed before.
  bool close();
  bool is_closed() const { return closed_; }

 private:
  struct Inside {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<uint64_t> waiting;  // tickets, the longest first
    uint64_t tickets = 0;
    int64_t concurrent = 0;
    int64_t sharing = 0;
    bool alone = false;

    bool admits(Use use) const;
    void admit(Use use);
    bool enters_at_once(Use use);
    uint64_t queue();
    // Its ticket may leave the queue then.
    void wait_for_turn(std::unique_lock<std::mutex>& guard, Use use, uint64_t ticket);
    void leave_queue(uint64_t ticket);
  };

  std::atomic<bool> closed_{false};
  PerProcess<Inside> inside_;
};

// Inside a gate as long as it lives, unless that is closed: then it is false.
class GateScope {
 public:
  GateScope(Gate& gate, Gate::Use use) : gate_(gate), use_(use), is_inside_(gate.enter(use)) {}
  ~GateScope() {
    if (is_inside_) gate_.leave(use_);
  }
  GateScope(const GateScope&) = delete;
  GateScope& operator=(const GateScope&) = delete;

  explicit operator bool() const { return is_inside_; }

 private:
  Gate& gate_;
  const Gate::Use use_;
  const bool is_inside_;
};

// A place at a gate, taken now, as long as it lives, unless that is closed: then it is false.
class GateReservation {
 public:
  GateReservation(Gate& gate, Gate::Use use) : gate_(gate), place_(gate.reserve(use)) {}
  ~GateReservation() {
    if (place_) gate_.leave(*place_);
  }
  GateReservation(const GateReservation&) = delete;
  GateReservation& operator=(const GateReservation&) = delete;

  explicit operator bool() const { return place_.has_value(); }
  // Waits for its turn; where it is inside already, does nothing.
  void enter() { gate_.enter(*place_); }

 private:
  Gate& gate_;
  std::optional<Gate::Reservation> place_;
};

}  // namespace swath
