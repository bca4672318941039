// Whether this is still the process that made something. A forked child inherits everything and owns nothing of it:
// descriptors, locks, rings and sockets are its parent's.
#pragma once

#include <atomic>
#include <cstdint>

namespace swath {

namespace internal {
extern std::atomic<uint64_t> forks;
}

// How many forks lie between the process that loaded this library and this one: whoever keeps the number beside what it
// opens notices in a child that it is another's. Costs one load.
inline uint64_t fork_generation() { return internal::forks.load(std::memory_order_relaxed); }

// A T of this process alone, made when it is asked for first: a forked child gets a new one. What the parent had is
// left as it is and never destroyed, for its locks may be held by threads that the child does not have.
template <typename T>
class PerProcess {
 public:
  constexpr PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& get() {
    Made* now = made_.load();
    if (now != nullptr && now->generation == fork_generation()) return now->value;
    Made* mine = new Made{.generation = fork_generation(), .inherited = now, .value = {}};
    if (made_.compare_exchange_strong(now, mine)) return mine->value;
    delete mine;  // another thread was first
    return now->value;
  }

 private:
  struct Made {
    uint64_t generation;
    Made* inherited;
    T value;
  };
  std::atomic<Made*> made_{nullptr};
};

}  // namespace swath
