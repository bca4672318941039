// Threads that begin together, and fail together.
#pragma once

#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace swath {

// Runs body(i, begin) in `threads` threads; each calls begin() once, when it is ready, and returns from it when all are
// (or when one of them has thrown). Returns when all have ended, and throws what the first one threw.
inline void run_at_once(int threads, const std::function<void(int, const std::function<void()>&)>& body) {
  std::barrier<> ready(threads);
  std::mutex mutex;
  std::exception_ptr error;
  const auto guarded = [&](int i) {
    bool began = false;
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
