#include "simulate/fibers.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace swath::simulate {
namespace {

TEST(Fibers, RunInTheOrderOfTheirTimes) {
  Fibers fibers(3);
  std::vector<int> order;
  fibers.run([&](int fiber) {
    fibers.spend(3 - fiber);
    fibers.let_earlier_run();
    order.push_back(fiber);
  });
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}

TEST(Fibers, GoOnWhenTheyAreWokenAndNotBefore) {
  Fibers fibers(2);
  double woken = 0;
  fibers.run([&](int fiber) {
    if (fiber == 0) {
      fibers.block("a test");
      woken = fibers.now();
    } else {
      fibers.spend(1);
      fibers.wake(0, 5);
    }
  });
  EXPECT_EQ(woken, 5);
}

TEST(Fibers, EventsComeInTheOrderOfTimeBetweenThem) {
  Fibers fibers(2);
  std::vector<double> order;
  fibers.run([&](int fiber) {
    if (fiber == 0) {
      fibers.at(3, [&](double time) { order.push_back(time); });
      fibers.at(1, [&](double time) {
        order.push_back(time);
        fibers.wake(0, 4);
      });
      fibers.block("a test");
    } else {
      fibers.sleep_until(2);
    }
    order.push_back(fibers.now());
  });
  EXPECT_EQ(order, (std::vector<double>{1, 2, 3, 4}));
}

TEST(Fibers, ThatAllWaitGetAnErrorThatNamesTheirPlaces) {
  Fibers fibers(2);
  try {
    fibers.run([&](int fiber) { fibers.block(fiber == 0 ? "a message" : "a barrier"); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDisagreement);
    EXPECT_EQ(std::string(error.what()), "no rank can go on: rank 0 waits in a message, rank 1 waits in a barrier");
  }
}

TEST(Fibers, HandleExceptionsOfTheirOwnWhileOthersRun) {
  Fibers fibers(2);
  std::vector<std::string> caught(2);
  fibers.run([&](int fiber) {
    try {
      throw std::runtime_error(std::to_string(fiber));
    } catch (const std::runtime_error&) {
      fibers.sleep_until(2 - fiber);  // the other fiber handles its exception meanwhile
      try {
        throw;
      } catch (const std::runtime_error& error) {
        caught[static_cast<size_t>(fiber)] = error.what();
      }
    }
  });
  EXPECT_EQ(caught, (std::vector<std::string>{"0", "1"}));
}

TEST(Fibers, TheFirstExceptionIsThrownWhenAllHaveEnded) {
  Fibers fibers(2);
  int ended = 0;
  const auto run = [&] {
    fibers.run([&](int fiber) {
      if (fiber == 0) throw std::runtime_error("first");
      fibers.spend(1);
      ++ended;
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(ended, 1);
}

// ---- interrupts -----------------------------------------------------------------------------------------------------

struct Counted {
  int& ended;
  ~Counted() { ++ended; }
};

TEST(Fibers, EndByAnInterruptWhetherTheyWaitOrWork) {
  Fibers fibers(3);
  int ended = 0;
  int asked_on_a_fiber = 0;
  const InterruptScope scope([&] {
    asked_on_a_fiber += fibers.running() >= 0 ? 1 : 0;
    return true;
  });
  const auto event = std::make_shared<int>(0);
  const auto run = [&](int fiber) {
    const Counted counted{ended};
    fibers.at(1e9, [event](double) { ++*event; });
    if (fiber == 0) fibers.block("a test");
    while (true) fibers.sleep_until(fibers.now() + 1e-6);
  };
  try {
    fibers.run(run);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
  }
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(asked_on_a_fiber, 0);
  EXPECT_EQ(event.use_count(), 1);
  EXPECT_EQ(*event, 0);
}

TEST(Fibers, GoOnWhereTheyWereIfTheAnswerIsNo) {
  Fibers fibers(2);
  int asked = 0;
  const InterruptScope scope([&] {
    ++asked;
    return false;
  });
  std::vector<int> order;
  fibers.run([&](int fiber) {
    while (asked < 3) check_interrupt();  // as library code does that works alone
    order.push_back(fiber);
    fibers.sleep_until(fibers.now() + 1);
    order.push_back(fiber);
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 0, 1}));
}

TEST(Fibers, EndOnceIfOneWakesAnotherAfterAFailure) {
  Fibers fibers(2);
  int ended = 0;
  struct Waking {
    Fibers& fibers;
    int other;
    ~Waking() { fibers.wake(other, 1); }
  };
  const auto run = [&](int fiber) {
    const Counted counted{ended};
    const Waking waking{fibers, 1 - fiber};
    fibers.block("a test");
  };
  EXPECT_THROW(fibers.run(run), Error);
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace swath::simulate
