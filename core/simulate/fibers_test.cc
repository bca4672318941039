#include "simulate/fibers.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace swath::simulate
