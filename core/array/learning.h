// How a profile learns from operations: it compares measured with predicted seconds, at collective points only.
//
// A wrong profile corrects itself within bounds: it has one factor for each direction, medium and scale, and one for
// each method there (plan/profile.h). All ranks must compute the same costs: a measurement of one rank is used only
// when all ranks know it. It is sent with the next agreement, and the slowest rank's time counts.
//
// Short operations are noisy, and a changed profile costs a new plan: equal operations in a row form a group, whose
// median counts as one long operation. Operations are equal by inputs that all ranks know, not by this rank's cached
// plan: a rank that has dropped the plan would otherwise learn at another time than the others, and plan differently.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/per_process.h"
#include "plan/cost_estimate.h"

namespace swath {

// The predicted duration of an operation. It is computed when first used; for most operations it never is.
class Estimate {
 public:
  // `group`: a key, the same on all ranks, of operations that can be measured in place of each other.
  Estimate(uint64_t group, std::function<CostEstimate()> make) : group_(group), make_(std::move(make)) {}
  uint64_t group() const { return group_; }
  const CostEstimate& get() const {
    std::call_once(made_, [this] {
      estimate_ = make_();
      is_made_.store(true, std::memory_order_release);
    });
    return estimate_;
  }
  // True if get() costs nothing.
  bool is_made() const { return is_made_.load(std::memory_order_acquire); }

 private:
  const uint64_t group_;
  const std::function<CostEstimate()> make_;
  mutable std::once_flag made_;
  mutable std::atomic<bool> is_made_ = false;
  mutable CostEstimate estimate_;
};

class Learning {
 public:
  // A group is complete after this total time or this number of operations.
  static constexpr int64_t kGroupNanoseconds = 16'000'000;
  static constexpr size_t kGroupOperations = 16;

  // `frozen`: the profile does not change. A forked child starts from `profile` again.
  Learning(std::shared_ptr<const Profile> profile, bool frozen) : initial_(std::move(profile)), frozen_(frozen) {}

  // The profile that costs are computed from; the same on all ranks.
  std::shared_ptr<const Profile> profile() const;
  void freeze() { frozen_ = true; }
  // True if profile() differs from the initial one.
  bool has_learned() const;

  // Records this rank's own time of an operation that all ranks carried out by the estimated plan.
  void measured(std::shared_ptr<const Estimate> estimate, int64_t nanoseconds);
  // This rank's measured time that was not yet sent to the others; 0: none.
  int64_t ungathered_nanoseconds() const;
  // All ranks have gathered their times of the previous operation; this is the largest.
  void take_slowest(int64_t slowest_nanoseconds);

 private:
  struct State {
    std::mutex mutex;
    std::shared_ptr<const Profile> learned;  // null: nothing yet
    // Null: nothing. A rank without a share may measure nothing, but still receives the others' time.
    std::shared_ptr<const Estimate> ungathered;
    int64_t ungathered_nanoseconds = 0;
    std::shared_ptr<const Estimate> group_of;  // the estimate of the current group; null: no group yet
    std::vector<int64_t> group;                // nanoseconds of the group's operations
    int64_t group_nanoseconds = 0;
  };

  void learn(State& state);

  const std::shared_ptr<const Profile> initial_;
  std::atomic<bool> frozen_;
  mutable PerProcess<State> state_;
};

}  // namespace swath
