// Threads that share one file: each operation has the same result as alone.
#include "array/shared_engine.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "method/run.h"
#include "store/engine_test_file.h"

namespace swath {
namespace {

constexpr int64_t kRows = 96;
constexpr int64_t kColumns = 250;
constexpr int64_t kElementBytes = 8;
constexpr Method kMethods[] = {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase};

// The element at (row, column) is row * kColumns + column.
Bytes places() {
  std::vector<int64_t> elements(kRows * kColumns);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<int64_t>(i);
  const auto bytes = std::as_bytes(std::span(elements));
  return {bytes.begin(), bytes.end()};
}

Plan plan_of(const Selection& selection, Direction direction, Method method) {
  Request request;
  request.direction = direction;
  request.layout = std::make_shared<Layout>(Layout::ordered({kRows, kColumns}, kElementBytes, 0, {0, 1}));
  request.decomposition = Decomposition::alone(selection);
  request.method = method;
  // The windows are smaller than the file, so that an operation takes several requests.
  request.tuning.sieve_bytes = request.tuning.window_bytes = 16 << 10;
  request.asked_tuning = {true, true, true, true};
  return make_plan(std::move(request));
}

// Every third row of one column.
Selection column(int64_t c) { return {{0, 3, kRows / 3, false}, {c, 1, 1, false}}; }

std::vector<int64_t> moved(SharedEngine& file, const Plan& plan, std::vector<int64_t> values = {}) {
  values.resize(static_cast<size_t>(kRows / 3), -1);
  const auto comm = make_solo_comm();
  const LocalMemory memory{plan.request.decomposition.parts(0, kElementBytes),
                           {reinterpret_cast<std::byte*>(values.data())}};
  Progress unwatched;
  const auto engine = file.lease();
  run(plan, engine.ranks(*comm), *engine, memory, unwatched);
  return values;
}

bool is_column(const std::vector<int64_t>& values, int64_t c) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 3 * static_cast<int64_t>(i) * kColumns + c) return false;
  }
  return true;
}

SharedEngine shared(const EngineTestFile& file, const std::string& engine, OpenMode mode = OpenMode::kRead) {
  return SharedEngine([make = open_for_engines(file.path(), mode, {.engine = engine})] { return make(nullptr); });
}

class SharedEngines : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, SharedEngines, testing::Values("auto", "posix", "uring", "model:ssd"),
                         [](const auto& param) { return param.param.substr(0, param.param.find(':')); });

TEST_P(SharedEngines, ThreadsReadByEveryMethodWhatEachWouldReadAlone) {
  const EngineTestFile file;
  file.write(places());
  SharedEngine engine = shared(file, GetParam());
  const bool modelled = GetParam().starts_with("model:");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int turn = 0; turn < (modelled ? 4 : 100); ++turn) {
        const auto c = static_cast<int64_t>(random() % kColumns);
        const Method method = kMethods[(t + static_cast<unsigned>(turn)) % 4];
        wrong += !is_column(moved(engine, plan_of(column(c), Direction::kRead, method)), c);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(SharedEngines, AForkedChildReadsWhileItsParentDoes) {
  const EngineTestFile file;
  file.write(places());
  SharedEngine engine = shared(file, GetParam());
  ASSERT_TRUE(is_column(moved(engine, plan_of(column(1), Direction::kRead, Method::kDirect)), 1));
  const pid_t child = fork();
  bool right = true;
  for (const Method method : kMethods) {
    for (int64_t c = 0; c < 3; ++c) right &= is_column(moved(engine, plan_of(column(c), Direction::kRead, method)), c);
  }
  if (child == 0) _exit(right ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(right);
  EXPECT_EQ(status, 0);
}

TEST(SharedEngine, TwoReadsCanBeUnderWayAtOnce) {
  const EngineTestFile file;
  file.write(places());
  SharedEngine engine = shared(file, "fault:pairs");
  const Plan plan = plan_of({{5, 1, 1, false}, {0, 1, kRows / 3, false}}, Direction::kRead, Method::kDirect);
  std::atomic<int> failed{0};
  const auto read = [&] {
    for (int turn = 0; turn < 20; ++turn) {
      try {
        moved(engine, plan);
      } catch (const Error&) {
        ++failed;
        return;
      }
    }
  };
  std::thread other(read);
  read();
  other.join();
  EXPECT_EQ(failed, 0);
}

TEST(SharedEngine, AnEngineThatFailedIsNotUsedAgain) {
  const EngineTestFile file;
  file.write(places());
  SharedEngine engine = shared(file, "fault:read@1=EIO");
  for (const Method method : kMethods) {
    const Plan plan = plan_of(column(7), Direction::kRead, method);
    try {
      moved(engine, plan);
    } catch (const Error&) {
      EXPECT_EQ(method, Method::kDirect);
    }
    EXPECT_TRUE(is_column(moved(engine, plan), 7));
  }
}

TEST(SharedEngine, AForkedChildFindsItsFileWhereTheNameIsGone) {
  const EngineTestFile file;
  file.write(places());
  SharedEngine engine = shared(file, "posix");
  unlink(file.path().c_str());
  const pid_t child = fork();
  if (child == 0) {
    _exit(is_column(moved(engine, plan_of(column(9), Direction::kRead, Method::kSieve)), 9) ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SharedEngine, LocksOfAParentAndItsForkedChildExcludeOneAnother) {
  const EngineTestFile file;
  file.write(places());
  SharedEngine engine = shared(file, "posix", OpenMode::kReadWrite);
  const auto leased = engine.lease();
  const auto held = leased->lock(0, 100);
  const pid_t child = fork();
  if (child == 0) {
    alarm(1);  // if the child waits for a lock, the alarm ends it
    const auto own = engine.lease()->lock(50, 60);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

}  // namespace
}  // namespace swath
