#include "plan/operation_times.h"

#include <utility>

namespace swath {

void OperationTimes::measured(int64_t plan, int64_t nanoseconds) {
  is_waiting_ = true;
  waiting_plan_ = plan;
  waiting_nanoseconds_ = nanoseconds;
}

void OperationTimes::set_slowest(int64_t slowest_nanoseconds) {
  waiting_nanoseconds_ = 0;
  if (!std::exchange(is_waiting_, false) || slowest_nanoseconds == 0) return;
  if (waiting_plan_ != group_.plan) {
    group_ = {waiting_plan_, {}};
    together_ = 0;
  }
  group_.nanoseconds.push_back(slowest_nanoseconds);
  together_ += slowest_nanoseconds;
}

bool OperationTimes::is_complete() const {
  return group_.nanoseconds.size() >= kGroupOperations || together_ >= kGroupNanoseconds;
}

OperationTimes::Group OperationTimes::take() {
  together_ = 0;
  return {group_.plan, std::exchange(group_.nanoseconds, {})};
}

}  // namespace swath
