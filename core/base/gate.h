// A fair lock for shared and exclusive use by threads, in the order of their arrival, and for uses that conflict with
// neither. It can be closed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/per_process.h"

namespace swath {

// enter() takes a mutex, and waits only for conflicting threads. In a forked child the gate is empty: the parent's
// threads do not exist there.
class Gate {
 public:
  enum class Use { kConcurrent, kShared, kAlone };

  // Waits for earlier threads with a conflicting use. Returns false if the gate is closed. An interrupt
  // (base/interrupt.h) ends a wait, here and in close(), and undoes the call.
  bool enter(Use use);
  // The same without waiting; returns false if the gate is closed, or if it would have to wait.
  bool try_enter(Use use);
  void leave(Use use);

  // A place in the order, reserved now for a thread that enters later; the thread may be another one. Later arrivals
  // wait for it as for a waiting thread. `ticket` 0: already inside.
  struct Reservation {
    Use use;
    uint64_t ticket;
  };
  // Never waits. Nullopt if the gate is closed.
  std::optional<Reservation> reserve(Use use);
  // Waits as enter() does; after an interrupt the place stays reserved. Call it once, and then leave().
  void enter(Reservation& reservation);
  // Gives up a place that was not entered, or leaves.
  void leave(const Reservation& reservation);
  // Refuses later arrivals. Returns when all have left, also those that were waiting. Returns false if it was closed
  // before.
  bool close();
  bool is_closed() const { return closed_; }

 private:
  struct Inside {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<uint64_t> waiting;  // tickets, in order of arrival
    uint64_t tickets = 0;
    int64_t concurrent = 0;
    int64_t sharing = 0;
    bool alone = false;

    bool admits(Use use) const;
    void admit(Use use);
    bool enters_at_once(Use use);
    uint64_t queue();
    // The ticket may leave the queue when this returns.
    void wait_for_turn(std::unique_lock<std::mutex>& guard, Use use, uint64_t ticket);
    void leave_queue(uint64_t ticket);
  };

  std::atomic<bool> closed_{false};
  PerProcess<Inside> inside_;
};

// Enters a gate during its lifetime; converts to false if the gate is closed.
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

// Reserves a place at a gate during its lifetime; converts to false if the gate is closed.
class GateReservation {
 public:
  GateReservation(Gate& gate, Gate::Use use) : gate_(gate), place_(gate.reserve(use)) {}
  ~GateReservation() {
    if (place_) gate_.leave(*place_);
  }
  GateReservation(const GateReservation&) = delete;
  GateReservation& operator=(const GateReservation&) = delete;

  explicit operator bool() const { return place_.has_value(); }
  // Waits for its turn; does nothing if it is already inside.
  void enter() { gate_.enter(*place_); }

 private:
  Gate& gate_;
  std::optional<Gate::Reservation> place_;
};

}  // namespace swath
