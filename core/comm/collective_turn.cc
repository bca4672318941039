#include "comm/collective_turn.h"

#include <string>

#include "base/error.h"

namespace swath {

void CollectiveTurn::begin(std::string_view doing, std::string_view what) {
  const auto fail = [&](const std::string& why) {
    fail_argument(std::string(doing) + (what.empty() ? "" : " ") + std::string(what) + ": " + why);
  };
  if (made_in_ != fork_generation()) {
    fail("this process was forked from one of the ranks and is none itself: it can read by a[...]");
  }
  const std::lock_guard guard(mutex_);
  if (depth_ > 0 && owner_ != std::this_thread::get_id()) {
    fail(
        "another thread of this rank is in a collective call of the same communicator: one thread at a time, or give "
        "each thread a communicator of its own");
  }
  owner_ = std::this_thread::get_id();
  ++depth_;
}

void CollectiveTurn::end() {
  const std::lock_guard guard(mutex_);
  --depth_;
}

}  // namespace swath
