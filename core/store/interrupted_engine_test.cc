// Interrupted engines: no request stays in flight, and the engine can be used afterwards.
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/interrupt.h"
#include "base/notice.h"
#include "comm/simulated.h"
#include "store/engine_test_file.h"

namespace swath {
namespace {

constexpr int64_t kMiB = 1 << 20;

using InterruptedEngine = FaultyEngineTest;

INSTANTIATE_TEST_SUITE_P(Over, InterruptedEngine, testing::Values("posix", "uring"),
                         [](const testing::TestParamInfo<std::string>& param) { return param.param; });

TEST_P(InterruptedEngine, ACallMovesNoMoreThanWhatTakesAMomentAndTheRequestIsOneAllTheSame) {
  const Bytes bytes = counting_bytes(40 * kMiB);
  file.write(bytes);
  Bytes seen(bytes.size());
  {
    const InterruptScope scope([] { return false; });
    auto engine = open();
    move(*engine, Direction::kRead, 0, seen);
    EXPECT_EQ(seen, bytes);
    EXPECT_EQ(counters.read_requests, 1);
    EXPECT_EQ(counters.read_bytes, 40 * kMiB);
    move(*engine, Direction::kWrite, 0, seen);
    EXPECT_EQ(counters.write_requests, 1);

    auto broken = open("read@1=EIO");
    const Error error = error_of([&] { move(*broken, Direction::kRead, 0, seen); });
    EXPECT_NE(std::string(error.what()).find("got " + std::to_string(kCallBytesMax)), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(file.contents(), bytes);
  auto whole = open("read@1=EIO");
  move(*whole, Direction::kRead, 0, seen);  // it cannot be interrupted: there is no second call
}

TEST_P(InterruptedEngine, ASignalDuringACallIsLookedAtAtOnce) {
  file.write(counting_bytes(1000));
  auto engine = open("read@0=EINTR,write@0=EINTR,lock@0=EINTR,lock@2=EINTR");
  Bytes bytes(1000);
  {
    const InterruptScope scope([] { return true; });
    EXPECT_EQ(error_of([&] { move(*engine, Direction::kRead, 0, bytes); }).kind(), ErrorKind::kInterrupted);
    EXPECT_EQ(error_of([&] { move(*engine, Direction::kWrite, 0, bytes); }).kind(), ErrorKind::kInterrupted);
    EXPECT_EQ(error_of([&] { engine->lock(0, 5); }).kind(), ErrorKind::kInterrupted);
  }
  move(*engine, Direction::kRead, 0, bytes);
  EXPECT_EQ(bytes, counting_bytes(1000));
  EXPECT_EQ(file.contents(), bytes);
  const InterruptScope scope([] { return false; });
  engine->lock(0, 5);
  engine->lock(0, 5);  // other signals do not interrupt it
}

TEST_P(InterruptedEngine, ALongBatchEndsInTheMiddleAndTheEngineGoesOn) {
  const Bytes bytes = counting_bytes(4 * kMiB);
  file.write(bytes);
  auto engine = open();
  Bytes seen(4096);
  const std::vector<Transfer> batch(2'000'000, transfer_of(0, seen));
  {
    const InterruptScope scope([] { return true; });
    EXPECT_EQ(error_of([&] { engine->transfer(Direction::kRead, batch, counters); }).kind(), ErrorKind::kInterrupted);
    EXPECT_LT(counters.read_requests, std::ssize(batch));
    engine->start(Direction::kRead, batch);
    EXPECT_EQ(error_of([&] { engine->wait(counters); }).kind(), ErrorKind::kInterrupted);
  }
  Bytes all(bytes.size());
  move(*engine, Direction::kRead, 0, all);
  EXPECT_EQ(all, bytes);
  const Transfer again[] = {transfer_of(0, all)};
  engine->start(Direction::kRead, again);
  engine->wait(counters);
  EXPECT_EQ(all, bytes);
}

class LockWait : public testing::Test {
 protected:
  std::unique_ptr<Engine> open(double lock_timeout_seconds = kNever) {
    return open_engine(file.path(), OpenMode::kReadWrite, {.lock_timeout_seconds = lock_timeout_seconds});
  }
  void SetUp() override { file.write(counting_bytes(1000)); }

  EngineTestFile file;
};

TEST_F(LockWait, EndsWhereItIsToldToStop) {
  auto holder = open();
  auto held = holder->lock(10, 20);
  auto waiter = open();
  {
    const InterruptScope scope([] { return true; });
    EXPECT_EQ(error_of([&] { waiter->lock(0, 100); }).kind(), ErrorKind::kInterrupted);
  }
  held.reset();
  waiter->lock(0, 100);
}

TEST_F(LockWait, ThatTakesTooLongNamesFileRangeHolderAndWhatToDo) {
  auto holder = open();
  auto held = holder->lock(10, 20);
  auto waiter = open(0.2);
  const Error error = error_of([&] { waiter->lock(15, 100); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_EQ(error.os_error(), ETIMEDOUT);
  const std::string text = error.what();
  EXPECT_TRUE(text.starts_with("lock " + file.path() + " [15, 100): ")) << text;
  EXPECT_NE(text.find("process " + std::to_string(::getpid()) + " (this one)"), std::string::npos) << text;
  EXPECT_NE(text.find("lock_timeout"), std::string::npos) << text;
  waiter->lock(20, 100);  // a range that is not locked
  held.reset();
  waiter->lock(15, 100);
}

TEST_F(LockWait, NamesTheOtherProcessThatHasTheRange) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    auto engine = open();
    auto held = engine->lock(0, 50);
    [[maybe_unused]] const ssize_t told = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  auto bystander = open();
  auto held_here = bystander->lock(60, 70);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto waiter = open(0.1);
  const std::string text = error_of([&] { waiter->lock(0, 55); }).what();
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_NE(text.find("process " + std::to_string(holder) + " ("), std::string::npos) << text;
  EXPECT_EQ(text.find("this one"), std::string::npos) << text;
}

TEST_F(LockWait, IsToldOfOnceWhereItIsLong) {
  static std::mutex mutex;
  static std::vector<std::string> told;
  set_notice_handler([](const std::string& text) {
    const std::lock_guard lock(mutex);
    told.push_back(text);
  });
  const auto notices = [] {
    const std::lock_guard lock(mutex);
    return told;
  };
  auto holder = open();
  auto held = holder->lock(0, 10);
  std::thread waiter([&] { open()->lock(0, 5); });
  while (notices().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  held.reset();
  waiter.join();
  set_notice_handler({});
  ASSERT_EQ(notices().size(), 1U);
  EXPECT_TRUE(notices().front().starts_with("lock " + file.path() + " [0, 5): waiting for process "));
}

TEST_F(LockWait, OfAModelledDiskIsBoundedInItsOwnTime) {
  run_ranks(2, [&](Comm& comm) {
    Clock& clock = clock_of_thread();
    auto engine =
        open_engine(file.path(), OpenMode::kReadWrite, {.engine = "model:ssd@LockWait", .lock_timeout_seconds = 1000});
    if (comm.rank() == 0) {
      const auto held = engine->lock(0, 10);
      clock.sleep_until(clock.now() + 5000);
    } else {
      clock.sleep_until(clock.now() + 1);
      const double begin = clock.now();
      EXPECT_EQ(error_of([&] { engine->lock(0, 10); }).os_error(), ETIMEDOUT);
      EXPECT_NEAR(clock.now() - begin, 1000, 1e-6);
    }
  });
}

TEST_F(LockWait, RefusesATimeoutThatIsNone) {
  EXPECT_EQ(error_of([&] { open(0); }).kind(), ErrorKind::kArgument);
  EXPECT_EQ(error_of([&] { open(-1); }).kind(), ErrorKind::kArgument);
}

}  // namespace
}  // namespace swath
