// Exclusive use of a communicator's collective calls: by one thread at a time.
//
// Calls of two threads would meet those of other ranks' threads in any order. So a second thread gets an error at once:
// if it waited, two ranks could wait for each other.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/fork.h"

namespace swath {

class CollectiveTurn {
 public:
  // The thread that has the turn may begin again; it must end as often. Throws Error{kArgument} if another thread has
  // the turn, or in a forked child of a rank. `doing` and `what` are for the message.
  void begin(std::string_view doing, std::string_view what);
  void end();

 private:
  const uint64_t made_in_ = fork_generation();
  std::mutex mutex_;
  std::thread::id owner_;
  int depth_ = 0;
};

// Holds a turn during its lifetime; does nothing for a single rank.
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
