// The contract of every engine for locks on file ranges.
#include <fcntl.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "store/engine_contract_for_tests.h"

namespace swath {
namespace {

constexpr char kNoLocks[] = "nobody is kept away in this store";

TEST_P(EngineContract, AHeldRangeMakesAnotherEngineWaitAndOthersNot) {
  file.write(counting_bytes(10));
  if (!open(OpenMode::kReadWrite)->capabilities().lock_for_holes) GTEST_SKIP() << kNoLocks;
  auto holder = open(OpenMode::kReadWrite);
  auto other = open(OpenMode::kReadWrite);
  auto held = holder->lock(0, 100);
  other->lock(100, 200);

  std::atomic<bool> got = false;
  std::thread waiter([&] {
    auto lock = other->lock(99, 120);
    got = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(got);
  held.reset();
  waiter.join();
  EXPECT_TRUE(got);
  holder->lock(0, 200);  // the waiting engine released its lock
}

TEST_P(EngineContract, WhoSharesARangeKeepsThoseAwayWhoWantItAlone) {
  file.write(counting_bytes(10));
  if (!open(OpenMode::kReadWrite)->capabilities().lock_for_holes) GTEST_SKIP() << kNoLocks;
  EXPECT_EQ(open(OpenMode::kReadWrite)->lock_shared(0, 100), nullptr) << "where no other writers are expected";
  auto first = open(OpenMode::kReadWrite, {.other_writers = true});
  auto second = open(OpenMode::kReadWrite, {.other_writers = true});
  auto filler = open(OpenMode::kReadWrite);
  auto held = first->lock_shared(0, 100);
  ASSERT_NE(held, nullptr);
  EXPECT_NE(second->lock_shared(50, 150), nullptr);
  std::atomic<bool> got = false;
  std::thread waiter([&] {
    auto lock = filler->lock(99, 120);
    got = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(got);
  held.reset();
  waiter.join();
  EXPECT_TRUE(got);
}

TEST_P(EngineContract, ASignalDoesNotEndTheWaitForALock) {
  file.write(counting_bytes(10));
  if (!open(OpenMode::kReadWrite)->capabilities().lock_for_holes) GTEST_SKIP() << kNoLocks;
  auto holder = open(OpenMode::kReadWrite);
  auto other = open(OpenMode::kReadWrite);
  auto held = holder->lock(0, 100);
  struct sigaction quiet = {};  // without SA_RESTART: the wait returns EINTR
  quiet.sa_handler = [](int) {};
  struct sigaction before = {};
  sigaction(SIGUSR1, &quiet, &before);
  std::atomic<bool> got = false;
  std::thread waiter([&] {
    auto lock = other->lock(0, 100);
    got = true;
  });
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pthread_kill(waiter.native_handle(), SIGUSR1);
  }
  EXPECT_FALSE(got);
  held.reset();
  waiter.join();
  EXPECT_TRUE(got);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(EngineContract, ALockSurvivesWhenAnotherDescriptorOfTheFileIsClosed) {
  file.write(counting_bytes(10));
  if (!open(OpenMode::kReadWrite)->capabilities().lock_for_holes) GTEST_SKIP() << kNoLocks;
  auto holder = open(OpenMode::kReadWrite);
  auto held = holder->lock(0, 100);
  open(OpenMode::kReadWrite).reset();  // a classic fcntl lock would be gone now

  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_len = 10;
  const int descriptor = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(::fcntl(descriptor, F_OFD_SETLK, &range), -1);
  held.reset();
  EXPECT_EQ(::fcntl(descriptor, F_OFD_SETLK, &range), 0);
  ::close(descriptor);
}

TEST_P(EngineContract, ALockMayOutliveItsEngine) {
  file.write(counting_bytes(10));
  auto engine = open(OpenMode::kReadWrite);
  auto held = engine->lock(0, 10);
  engine.reset();
  held.reset();
  open(OpenMode::kReadWrite)->lock(0, 10);
}

TEST_P(EngineContract, ALockOnAFileOpenForReadingSaysSo) {
  file.write(counting_bytes(10));
  if (!open(OpenMode::kReadWrite)->capabilities().lock_for_holes) GTEST_SKIP() << kNoLocks;
  auto engine = open(OpenMode::kRead);
  const Error error = error_of([&] { engine->lock(0, 10); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_EQ(error.os_error(), EBADF);
  EXPECT_NE(std::string(error.what()).find("[0, 10): Bad file descriptor"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace swath
