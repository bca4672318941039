#include "array/learning.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace swath {
namespace {

// Weight of one long operation, as a number of short operations in a group.
constexpr size_t kOperationsATime = 4;
// A group with a smaller error changes nothing: cached plans stay valid.
constexpr double kNotWorthLearning = 0.1;

double median_low(std::vector<int64_t> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// Returns the profile corrected by the measured durations; null if nothing changes. The durations are of the work:
// fixed costs (checks and agreement) are not included, and not corrected.
std::shared_ptr<const Profile> taught(const Profile& profile, const CostEstimate& estimate,
                                      const std::vector<int64_t>& nanoseconds) {
  const double work = estimate.seconds() - estimate.fixed;
  const double not_worth = nanoseconds.size() > 1 ? kNotWorthLearning : 0;
  const double seconds = median_low(nanoseconds) * 1e-9;
  if (work <= 0 || work / estimate.correction < estimate.fixed || std::abs(seconds / work - 1) <= not_worth)
    return nullptr;
  auto corrected = std::make_shared<Profile>(profile);
  const size_t times = std::max<size_t>(nanoseconds.size() / kOperationsATime, 1);
  for (size_t i = 0; i < times; ++i)
    corrected->corrections.observe(estimate.place, seconds / work * estimate.correction);
  return corrected;
}

}  // namespace

std::shared_ptr<const Profile> Learning::profile() const {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  return state.learned != nullptr ? state.learned : initial_;
}

bool Learning::has_learned() const { return profile() != initial_; }

void Learning::measured(std::shared_ptr<const Estimate> estimate, int64_t nanoseconds) {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  state.ungathered = std::move(estimate);
  state.ungathered_nanoseconds = nanoseconds;
}

int64_t Learning::ungathered_nanoseconds() const {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  return state.ungathered == nullptr ? 0 : state.ungathered_nanoseconds;
}

void Learning::take_slowest(int64_t slowest_nanoseconds) {
  State& state = state_.get();
  const std::lock_guard guard(state.mutex);
  const auto estimate = std::exchange(state.ungathered, nullptr);
  if (estimate == nullptr || slowest_nanoseconds == 0) return;
  if (state.group_of == nullptr || estimate->group() != state.group_of->group()) {
    state.group_of = estimate;
    state.group.clear();
    state.group_nanoseconds = 0;
  }
  state.group.push_back(slowest_nanoseconds);
  state.group_nanoseconds += slowest_nanoseconds;
  if (state.group.size() >= kGroupOperations || state.group_nanoseconds >= kGroupNanoseconds) learn(state);
}

void Learning::learn(State& state) {
  const auto nanoseconds = std::exchange(state.group, {});
  const auto estimate = std::exchange(state.group_of, nullptr);  // the next group starts from the corrected profile
  state.group_nanoseconds = 0;
  if (frozen_) return;
  const Profile& now = state.learned != nullptr ? *state.learned : *initial_;
  if (auto corrected = taught(now, estimate->get(), nanoseconds)) state.learned = std::move(corrected);
}

}  // namespace swath
