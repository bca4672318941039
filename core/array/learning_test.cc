// The observations that a profile learns from operations.
#include "array/learning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace swath {
namespace {

constexpr double kGroupSeconds = static_cast<double>(Learning::kGroupNanoseconds) * 1e-9;
constexpr double kShort = 1e-3;
constexpr auto kOperations = static_cast<int>(Learning::kGroupOperations);

size_t place() { return correction_place(Method::kList, Direction::kRead, 1, Scale::kSmall); }

class LearningTest : public ::testing::Test {
 protected:
  // The estimate of an operation with `work` seconds of work by the current profile, and `fixed` seconds.
  std::shared_ptr<const Estimate> estimate(double work, double fixed = 0, uint64_t group = 0) const {
    CostEstimate estimate;
    estimate.transfer = work;
    estimate.fixed = fixed;
    estimate.place = place();
    estimate.correction = learning_.profile()->corrections.factor(place());
    return std::make_shared<const Estimate>(group != 0 ? group : ++groups_, [estimate] { return estimate; });
  }
  // Executes an operation, and its agreement, in which this rank is the slowest.
  void execute(const std::shared_ptr<const Estimate>& estimate, double seconds) {
    learning_.measured(estimate, std::llround(seconds * 1e9));
    learning_.take_slowest(learning_.ungathered_nanoseconds());
  }
  int64_t observations() const { return learning_.profile()->corrections.observations(place()); }
  double common() const { return learning_.profile()->corrections.part(Corrections::common_place(place())); }

  mutable uint64_t groups_ = 0;
  Learning learning_{std::make_shared<const Profile>(default_profile()), false};
};

TEST_F(LearningTest, OneLongOperationTeachesAtOnce) {
  execute(estimate(kGroupSeconds), 1.5 * kGroupSeconds);
  EXPECT_EQ(observations(), 1);
  EXPECT_NEAR(common(), 1 + 0.5 / 8, 1e-9);
  EXPECT_NEAR(learning_.profile()->corrections.part(place()), 1 + 0.5 / 16, 1e-9);
  EXPECT_TRUE(learning_.has_learned());
}

TEST_F(LearningTest, OperationsThatTakeLongTogetherTeachByTheirMedian) {
  const auto ten = estimate(kGroupSeconds / 10);
  for (int turn = 0; turn < 3; ++turn) {
    execute(ten, kGroupSeconds * (turn == 1 ? 0.5 : 0.2));  // one of the operations was disturbed
    EXPECT_EQ(observations(), 0);
  }
  execute(ten, kGroupSeconds * 0.2);
  EXPECT_EQ(observations(), 1);
  EXPECT_NEAR(common(), 1 + 1.0 / 8, 1e-9);
}

TEST_F(LearningTest, ShortOperationsTeachByTheMedianOfAGroup) {
  auto now = estimate(kShort / 10);
  for (int turn = 0; turn < kOperations - 1; ++turn) {
    execute(now, kShort / (turn < 2 ? 2 : 5));  // two of the operations were disturbed
    EXPECT_EQ(observations(), 0);
  }
  for (int turn = 0; turn < 30 * kOperations; ++turn) {
    const int64_t before = observations();
    execute(now, kShort / 5);
    if (observations() != before) now = estimate(kShort / 10);
  }
  EXPECT_NEAR(now->get().correction, 2, 0.2);
}

TEST_F(LearningTest, AGroupIsOfOnePlan) {
  const std::vector plans{estimate(kShort / 10), estimate(kShort / 10)};
  for (size_t turn = 0; turn < size_t{3} * kOperations; ++turn) execute(plans[turn % 2], kShort / 2);
  EXPECT_EQ(observations(), 0);
}

// Other ranks have kept their plans, and must learn the same.
TEST_F(LearningTest, APlanThatIsMadeAgainIsOfTheSameGroup) {
  constexpr uint64_t kGroup = 1 << 20;
  for (int turn = 0; turn < kOperations; ++turn) execute(estimate(kShort / 10, 0, kGroup), kShort / 2);
  EXPECT_EQ(observations(), std::max(kOperations / 4, 1));
}

// Plans that were made from this profile stay valid.
TEST_F(LearningTest, AnEstimateThatIsAboutRightIsLeftAlone) {
  const auto profile = learning_.profile();
  for (const double off : {1.08, 0.92}) {
    const auto now = estimate(kShort / 10);
    for (int turn = 0; turn < kOperations; ++turn) execute(now, off * kShort / 10);
  }
  EXPECT_EQ(learning_.profile(), profile);
  EXPECT_FALSE(learning_.has_learned());
}

TEST_F(LearningTest, AnOperationThatIsMostlyFixedTeachesNothing) {
  for (const double work : {0.0, 0.9e-4, 1.1e-4}) {
    const auto now = estimate(work, 1e-4);
    // without the fixed seconds
    for (int turn = 0; turn < kOperations; ++turn) execute(now, std::max(1.5 * work, 1e-6));
    EXPECT_EQ(observations() > 0, work > 1e-4) << work;
  }
}

TEST_F(LearningTest, TheSlowestRankCountsAndNobodyWhoDidNotTakePart) {
  learning_.take_slowest(1'000'000'000);  // for example of an operation before this array was opened
  EXPECT_EQ(observations(), 0);
  learning_.measured(estimate(1), 1'000'000'000);
  EXPECT_EQ(learning_.ungathered_nanoseconds(), 1'000'000'000);
  learning_.take_slowest(2'000'000'000);
  EXPECT_EQ(learning_.ungathered_nanoseconds(), 0);
  EXPECT_NEAR(common(), 1 + 1.0 / 8, 1e-9);
}

TEST_F(LearningTest, AFrozenProfileLearnsNothing) {
  learning_.freeze();
  execute(estimate(1), 2);
  EXPECT_EQ(observations(), 0);
}

}  // namespace
}  // namespace swath
