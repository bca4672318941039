// What operations took, until it is enough to learn from.
//
// All ranks must price alike: what a rank measured is not used before all know of it. It travels with the next
// agreement, and the slowest rank's time counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swath {

class OperationTimes {
 public:
  // Shorter operations tell little but noise, and what is learned costs a new plan: those by one plan are a group,
  // which is complete as soon as they took so long together, or are so many.
  static constexpr int64_t kGroupNanoseconds = 16'000'000;
  static constexpr size_t kGroupOperations = 16;

  struct Group {
    int64_t plan = 0;
    std::vector<int64_t> nanoseconds;
  };

  // This rank's own time of an operation that all ranks carried out by one plan, which the caller gives a number.
  void measured(int64_t plan, int64_t nanoseconds);
  // What this rank has measured and not yet told, 0 for nothing.
  int64_t own_nanoseconds() const { return waiting_nanoseconds_; }
  // All ranks have told what they measured of the operation before: the slowest of them so much.
  void set_slowest(int64_t slowest_nanoseconds);

  bool is_complete() const;
  // What is complete; from then on another group begins.
  Group take();

 private:
  bool is_waiting_ =
      false;  // a rank without a share may have measured nothing, and hears of the others' time all the same
  int64_t waiting_plan_ = 0;
  int64_t waiting_nanoseconds_ = 0;
  Group group_;
  int64_t together_ = 0;  // nanoseconds of the group
};

}  // namespace swath
