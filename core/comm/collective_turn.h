// Whose turn it is to be in collective calls of a communicator: one thread's at a time.
//
// Calls of two threads would meet those of other ranks' threads in any order. So a second thread is refused, at once:
// one that waited might wait for a rank that waits for this one.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/fork.h"

namespace swath {

class CollectiveTurn {
 public:
  // The thread that has the turn may begin again, and ends as often. Throws Error{kArgument} where another thread has
  // it, and in a process that was forked from a rank, and is none. `doing` and `what` are for the message.
  void begin(std::string_view doing, std::string_view what);
  void end();

 private:
  const uint64_t made_in_ = fork_generation();
  std::mutex mutex_;
  std::thread::id owner_;
  int depth_ = 0;
};

// A turn as long as it lives; of one rank alone nothing.
class CollectiveTurnScope {
 public:
  explicit CollectiveTurnScope(CollectiveTurn* turn, std::string_view doing, std::string_view what) : turn_(turn) {
    if (turn_ != nullptr) turn_->begin(doing, what);
  }
  ~CollectiveTurnScope() {
    if (turn_ != nullptr) turn_->end();
  }
  CollectiveTurnScope(const CollectiveTurnScope&) = delete;
  CollectiveTurnScope& operator=(const CollectiveTurnScope&) = delete;

 private:
  CollectiveTurn* const turn_;
};

}  // namespace swath
