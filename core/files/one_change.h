// Makes changes of an open file run one at a time.
#pragma once

#include <mutex>

#include "base/interrupt.h"
#include "base/per_process.h"

namespace swath {

// An interrupt does not stop a change that has begun; it takes effect after the change.
class OneChange {
 public:
  explicit OneChange(PerProcess<std::recursive_mutex>& changing) : lock_(changing.get()) {}

 private:
  const std::lock_guard<std::recursive_mutex> lock_;
  const InterruptScope uninterrupted_{[] { return false; }};
};

}  // namespace swath
