// An object of which every process has its own. A forked child gets a new one and does not touch the inherited one: its
// threads, held locks and rings belong to the parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fork.h"

namespace swath {

// get() may be called by any thread. T is made without arguments.
template <typename T>
class PerProcess {
 public:
  PerProcess() : held_(new Held) {}
  ~PerProcess() {
    Held* held = held_.load();
    if (held->made_in == fork_generation()) delete held;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& get() {
    Held* held = held_.load(std::memory_order_acquire);
    if (held->made_in == fork_generation()) return held->value;
    auto own = std::make_unique<Held>();
    // If another thread of the child was first, `held` is now its object.
    return held_.compare_exchange_strong(held, own.get()) ? own.release()->value : held->value;
  }

 private:
  struct Held {
    T value;
    const uint64_t made_in = fork_generation();
  };

  std::atomic<Held*> held_;
};

}  // namespace swath
