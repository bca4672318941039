#include "array/learning.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace swath {
namespace {

// For so many operations a group counts as much as one long operation.
constexpr size_t kOperationsATime = 4;
// A group of several that is off by no more teaches nothing: plans that are kept stay as good as they are.
constexpr double kNotWorthLearning = 0.1;

double median_low(std::vector<int64_t> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// The profile with what operations that took so long teach it; null where that is nothing. Those are times of the work:
// what is fixed, checks and agreement, is not among them, nor corrected.
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
  const std::lock_guard guard(mutex_);
  return profile_;
}

void Learning::freeze() {
  const std::lock_guard guard(mutex_);
  frozen_ = true;
}

bool Learning::has_learned() const {
  const std::lock_guard guard(mutex_);
  return has_learned_;
}

void Learning::measured(std::shared_ptr<const Estimate> estimate, int64_t nanoseconds) {
  const std::lock_guard guard(mutex_);
  untold_ = std::move(estimate);
  untold_nanoseconds_ = nanoseconds;
}

int64_t Learning::untold_nanoseconds() const {
  const std::lock_guard guard(mutex_);
  return untold_ == nullptr ? 0 : untold_nanoseconds_;
}

void Learning::told(int64_t slowest_nanoseconds) {
  const std::lock_guard guard(mutex_);
  const auto estimate = std::exchange(untold_, nullptr);
  if (estimate == nullptr || slowest_nanoseconds == 0) return;
  if (estimate != group_of_) {
    group_of_ = estimate;
    group_.clear();
    group_nanoseconds_ = 0;
  }
  group_.push_back(slowest_nanoseconds);
  group_nanoseconds_ += slowest_nanoseconds;
  if (group_.size() >= kGroupOperations || group_nanoseconds_ >= kGroupNanoseconds) learn();
}

void Learning::learn() {
  const auto nanoseconds = std::exchange(group_, {});
  group_nanoseconds_ = 0;
  if (frozen_) return;
  if (auto corrected = taught(*profile_, group_of_->get(), nanoseconds)) {
    profile_ = std::move(corrected);
    has_learned_ = true;
  }
}

}  // namespace swath
