#include "array/shared_loops.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "comm/agreement.h"
#include "comm/simulated.h"

namespace swath {
namespace {

// The queue of one rank: it executes steps one after another, as BackgroundQueue does.
class Queue {
 public:
  explicit Queue(Comm& comm) : comm_(comm) {}

  int begin() { return loops_.begin(); }
  // Returns whether the step was executed; false: some rank has left the loop.
  bool step(int loop, const std::string& words) {
    try {
      loops_.step(loop, [&] { agree_same(comm_, words); });
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kLeft) << error.what();
      told_ = error.what();
      return false;
    }
  }
  void leave(int loop) { loops_.leave(loop, comm_, "has left loop " + std::to_string(loop)); }
  const std::string& told() const { return told_; }

 private:
  Comm& comm_;
  SharedLoops loops_;
  std::string told_;
};

TEST(SharedLoops, OneThatLeavesAloneIsHeardAtTheStepInWhosePlaceItDoes) {
  run_ranks(3, [](Comm& comm) {
    Queue queue(comm);
    const int loop = queue.begin();
    const int leaves_at = comm.rank() == 1 ? 3 : 10;
    int steps = 0;
    while (steps < leaves_at && queue.step(loop, "step " + std::to_string(steps))) ++steps;
    EXPECT_EQ(steps, 3);
    queue.leave(loop);
    if (comm.rank() != 1) EXPECT_EQ(queue.told(), "rank 1: has left loop 1");
    EXPECT_FALSE(queue.step(loop, "one more"));  // the rank does not announce it
    EXPECT_TRUE(queue.step(SharedLoops::kNone, "something else"));
  });
}

TEST(SharedLoops, WhereAllLeaveWhatComesThenMeets) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    run_ranks(
        4,
        [](Comm& comm) {
          Queue queue(comm);
          const int loop = queue.begin();
          EXPECT_TRUE(queue.step(loop, "a step"));
          // some ranks leave before the next step, some after it
          if (comm.rank() % 2 == 0) queue.leave(loop);
          EXPECT_TRUE(queue.step(SharedLoops::kNone, "something else"));
          EXPECT_TRUE(queue.step(queue.begin(), "a step of another loop"));
          if (comm.rank() % 2 == 1) queue.leave(loop);
          EXPECT_TRUE(queue.step(SharedLoops::kNone, "at the end"));
        },
        seed);
  }
}

// The ranks leave any loops at any time: all ranks execute the same steps, and no rank waits for ever.
TEST(SharedLoops, StepsAreCarriedOutByAllOrByNone) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const int ranks = static_cast<int>(random() % 4) + 1;
    const int loops = static_cast<int>(random() % 3) + 1;
    const int steps = 12;
    std::vector<std::vector<int>> leaves_at(static_cast<size_t>(ranks));  // for each rank and loop
    for (auto& of_rank : leaves_at) {
      for (int i = 0; i < loops; ++i) of_rank.push_back(static_cast<int>(random() % (steps + 4)));
    }
    std::vector<std::vector<std::string>> done(static_cast<size_t>(ranks));
    run_ranks(
        ranks,
        [&](Comm& comm) {
          const auto rank = static_cast<size_t>(comm.rank());
          Queue queue(comm);
          for (int i = 0; i < loops; ++i) queue.begin();
          for (int step = 0; step < steps; ++step) {
            for (int loop = 1; loop <= loops; ++loop) {
              const int leaves = leaves_at[rank][static_cast<size_t>(loop - 1)];
              const std::string words = "step " + std::to_string(step) + " of " + std::to_string(loop);
              if (step < leaves && queue.step(loop, words)) done[rank].push_back(words);
              if (step == leaves && comm.size() > 1) queue.leave(loop);
            }
            EXPECT_TRUE(queue.step(SharedLoops::kNone, "beside step " + std::to_string(step)));
          }
        },
        seed);
    if (ranks == 1) continue;
    for (const auto& of_rank : done) EXPECT_EQ(of_rank, done[0]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace swath
