// How a profile learns from operations: measured seconds beside predicted ones, at collective points only.
//
// A profile that is wrong is corrected, within bounds: by one factor for each direction, medium and scale, and one for
// each method there (plan/profile.h). All ranks must compute the same prices. So a rank's measurement is used only when
// all ranks have it: it travels with the next agreement, and the time of the slowest rank counts.
//
// The time of a short operation is mostly noise, and each correction costs a new plan. So equal short operations in a
// row form a group, which counts as one long operation, by its median. Whether operations are equal is decided by data
// that all ranks have, not by the plans that this rank has in its cache: ranks must learn at the same time.
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

// What an operation is predicted to take: computed when it is first asked for, which of most operations nobody does.
class Estimate {
 public:
  // `group`: the same, on all ranks, for all operations of which one is as good as another to learn from.
  Estimate(uint64_t group, std::function<CostEstimate()> make) : group_(group), make_(std::move(make)) {}
  uint64_t group() const { return group_; }
  const CostEstimate& get() const {
    std::call_once(made_, [this] { estimate_ = make_(); });
    return estimate_;
  }

 private:
  const uint64_t group_;
  const std::function<CostEstimate()> make_;
  mutable std::once_flag made_;
  mutable CostEstimate estimate_;
};

class Learning {
 public:
  // A group is complete as soon as its operations took so long together, or are so many.
  static constexpr int64_t kGroupNanoseconds = 16'000'000;
  static constexpr size_t kGroupOperations = 16;

  // `frozen`: nothing is learned. A forked child begins with `profile` anew.
  Learning(std::shared_ptr<const Profile> profile, bool frozen) : initial_(std::move(profile)), frozen_(frozen) {}

  // What prices are made from; the same on all ranks.
  std::shared_ptr<const Profile> profile() const;
  void freeze() { frozen_ = true; }
  // Whether `profile` is another than in the beginning.
  bool has_learned() const;

  // This rank's own time of an operation that all ranks carried out by the plan that was estimated so.
  void measured(std::shared_ptr<const Estimate> estimate, int64_t nanoseconds);
  // What this rank has measured and the others have not heard of; 0 for nothing.
  int64_t ungathered_nanoseconds() const;
  // All ranks have gathered what they measured of the operation before: the slowest of them so much.
  void take_slowest(int64_t slowest_nanoseconds);

 private:
  struct State {
    std::mutex mutex;
    std::shared_ptr<const Profile> learned;  // null: nothing yet
    // Null: nothing. A rank without a share may have measured nothing, and hears of the others' time all the same.
    std::shared_ptr<const Estimate> ungathered;
    int64_t ungathered_nanoseconds = 0;
    std::shared_ptr<const Estimate> group_of;  // null: of nothing yet
    std::vector<int64_t> group;                // nanoseconds, by that plan
    int64_t group_nanoseconds = 0;
  };

  void learn(State& state);

  const std::shared_ptr<const Profile> initial_;
  std::atomic<bool> frozen_;
  mutable PerProcess<State> state_;
};

}  // namespace swath
