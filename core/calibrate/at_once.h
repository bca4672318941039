// Threads that start together and share a failure.
#pragma once

#include <sched.h>

#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace swath {

// Pins thread i to a core, round-robin. Otherwise the kernel at times puts two threads that wake each other on one
// core, where barriers take a tenth of the time and copies run one after another.
inline void stay_on_core(int thread) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int before = thread % CPU_COUNT(&allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || before-- > 0) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    sched_setaffinity(0, sizeof own, &own);  // for this thread; if refused, it is not pinned
    return;
  }
}

// Runs body(i, begin) in `threads` threads. Each calls begin() once when it is ready; begin() returns when all are
// ready (or one has thrown). Returns when all have ended, and throws the first error.
inline void run_at_once(int threads, const std::function<void(int, const std::function<void()>&)>& body) {
  std::barrier<> ready(threads);
  std::mutex mutex;
  std::exception_ptr error;
  const auto guarded = [&](int i) {
    bool began = false;
    stay_on_core(i);
    try {
      body(i, [&] {
        began = true;
        ready.arrive_and_wait();
      });
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!error) error = std::current_exception();
    }
    if (!began) ready.arrive_and_drop();
  };
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back(guarded, i);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace swath
