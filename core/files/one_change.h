// One change of an open file after the other.
#pragma once

#include <mutex>

#include "base/interrupt.h"
#include "base/per_process.h"

namespace swath {

// A change is not interrupted from its first byte to its last: whoever is told to stop stops behind it.
class OneChange {
 public:
  explicit OneChange(PerProcess<std::recursive_mutex>& changing) : lock_(changing.get()) {}

 private:
  const std::lock_guard<std::recursive_mutex> lock_;
  const InterruptScope uninterrupted_{[] { return false; }};
};

}  // namespace swath
