#include "base/gate.h"

#include <algorithm>
#include <utility>

#include "base/interrupt.h"

namespace swath {

bool Gate::Inside::admits(Use use) const {
  return use == Use::kConcurrent || (!alone && (use == Use::kShared || sharing == 0));
}

void Gate::Inside::admit(Use use) {
  concurrent += use == Use::kConcurrent;
  sharing += use == Use::kShared;
  alone = alone || use == Use::kAlone;
}

// Only a concurrent use may overtake waiting threads, since it conflicts with none of them.
bool Gate::Inside::enters_at_once(Use use) {
  if (!admits(use) || (use != Use::kConcurrent && !waiting.empty())) return false;
  admit(use);
  return true;
}

bool Gate::try_enter(Use use) {
  Inside& inside = inside_.get();
  const std::lock_guard guard(inside.mutex);
  return !closed_ && inside.enters_at_once(use);
}

uint64_t Gate::Inside::queue() {
  waiting.push_back(++tickets);
  return tickets;
}

void Gate::Inside::leave_queue(uint64_t ticket) {
  std::erase(waiting, ticket);
  changed.notify_all();
}

void Gate::Inside::wait_for_turn(std::unique_lock<std::mutex>& guard, Use use, uint64_t ticket) {
  while (waiting.front() != ticket || !admits(use)) wait_interruptibly(changed, guard);
  admit(use);
}

bool Gate::enter(Use use) {
  Inside& inside = inside_.get();
  std::unique_lock guard(inside.mutex);
  if (closed_) return false;
  if (inside.enters_at_once(use)) return true;
  struct Leave {  // the queue, whether admitted, turned away or interrupted
    Inside& queue;
    uint64_t own;
    ~Leave() { queue.leave_queue(own); }
  } const leave{inside, inside.queue()};
  inside.wait_for_turn(guard, use, leave.own);
  return true;
}

std::optional<Gate::Reservation> Gate::reserve(Use use) {
  Inside& inside = inside_.get();
  const std::lock_guard guard(inside.mutex);
  if (closed_) return std::nullopt;
  return Reservation{use, inside.enters_at_once(use) ? 0 : inside.queue()};
}

void Gate::enter(Reservation& reservation) {
  if (reservation.ticket == 0) return;
  Inside& inside = inside_.get();
  std::unique_lock guard(inside.mutex);
  inside.wait_for_turn(guard, reservation.use, reservation.ticket);
  inside.leave_queue(std::exchange(reservation.ticket, 0));
}

void Gate::leave(const Reservation& reservation) {
  if (reservation.ticket == 0) {
    leave(reservation.use);
    return;
  }
  Inside& inside = inside_.get();
  const std::lock_guard guard(inside.mutex);
  inside.leave_queue(reservation.ticket);
}

void Gate::leave(Use use) {
  Inside& inside = inside_.get();
  const std::lock_guard guard(inside.mutex);
  // A child forked inside the gate leaves a gate that is empty in the child.
  if (use == Use::kAlone) {
    inside.alone = false;
  } else {
    int64_t& count = use == Use::kShared ? inside.sharing : inside.concurrent;
    count = std::max<int64_t>(count - 1, 0);
  }
  if (!inside.waiting.empty() || closed_) inside.changed.notify_all();
}

bool Gate::close() {
  Inside& inside = inside_.get();
  std::unique_lock guard(inside.mutex);
  const bool was_closed = closed_.exchange(true);
  try {
    while (!inside.waiting.empty() || inside.concurrent > 0 || !inside.admits(Use::kAlone)) {
      wait_interruptibly(inside.changed, guard);
    }
  } catch (...) {
    closed_ = was_closed;
    throw;
  }
  return !was_closed;
}

}  // namespace swath
