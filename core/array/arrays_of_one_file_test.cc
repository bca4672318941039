// Two arrays of one open file, with interleaved elements, are written at the same time: no write is lost.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "array/array.h"
#include "comm/fork_ranks_for_tests.h"
#include "store/engine_test_file.h"
#include "testing/naive.h"
#include "testing/ranks_and_memory.h"

namespace swath {
namespace {

using namespace swath::testing;
using Kind = DimensionRule::Kind;

constexpr int64_t kRows = 48;  // divisible by 1, 2 and 3 ranks
constexpr int64_t kElementBytes = 8;
constexpr int kArrays = 2;
constexpr int kTurns = 3;

// Each request takes so long that two operations meet in every window.
std::shared_ptr<File> open_slow(const std::string& path) {
  return File::open(path, OpenMode::kReadWrite, {.engine = {.engine = "model:xeon-eide"}});
}

std::unique_ptr<Array> array_of(std::shared_ptr<Comm> comm, const std::shared_ptr<File>& file) {
  const Shape shape{kRows * kArrays};
  Array::Options options;
  options.name = file->path();
  options.form =
      std::make_shared<const ArrayForm>(file->path(), shape, kElementBytes,
                                        std::make_shared<const Layout>(Layout::ordered(shape, kElementBytes, 0, {0})));
  return std::make_unique<Array>(std::move(comm), file, options);
}

// Every kArrays-th element belongs to one array; the ranks share them.
struct Column {
  Column(const Array& array, int64_t number, Direction direction, Method method)
      : decomposition(Decomposition::distributed(Distribution({{Kind::kCyclic, 1}}, {array.comm().size()}),
                                                 {{number, kArrays, kRows, false}}, array.comm().size())),
        operation(array.form(), {direction, decomposition, method, {{"sieve_bytes", 256}}}),
        bytes(static_cast<size_t>(kRows / array.comm().size() * kElementBytes)) {
    memory = packed_memory(decomposition, array.comm().rank(), kElementBytes, bytes.data());
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  Decomposition decomposition;
  Operation operation;
  Bytes bytes;
  LocalMemory memory;
};

// Writes both arrays by `write_both`, and counts the bytes of this rank that are wrong afterwards.
using WriteBoth = std::function<void(Array&, const Column&, Array&, const Column&)>;
int64_t lost(const std::shared_ptr<Comm>& comm, const std::string& path, Method method, const WriteBoth& write_both) {
  const auto file = open_slow(path);
  const auto first = array_of(comm, file);
  const auto second = array_of(comm, file);
  int64_t count = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    Column one(*first, 0, Direction::kWrite, Method::kSieve);
    Column other(*second, 1, Direction::kWrite, method);
    one.bytes.assign(one.bytes.size(), static_cast<std::byte>(1 + turn));
    other.bytes.assign(other.bytes.size(), static_cast<std::byte>(101 + turn));
    write_both(*first, one, *second, other);
    const Column one_again(*first, 0, Direction::kRead, Method::kDirect);
    const Column other_again(*second, 1, Direction::kRead, Method::kDirect);
    first->execute(one_again.operation, one_again.memory);
    second->execute(other_again.operation, other_again.memory);
    for (const std::byte byte : one_again.bytes) count += byte != one.bytes[0];
    for (const std::byte byte : other_again.bytes) count += byte != other.bytes[0];
  }
  return count;
}

void write_in_background(Array& first, const Column& one, Array& second, const Column& other) {
  Future before = first.start(one.operation, one.memory, {});
  Future after = second.start(other.operation, other.memory, {});
  if (first.comm().rank() % 2 == 0) after.wait();  // in any order
  before.wait();
  after.wait();
}

void write_one_in_background(Array& first, const Column& one, Array& second, const Column& other) {
  Future before = first.start(one.operation, one.memory, {});
  second.execute(other.operation, other.memory);
  before.wait();
}

void write_by_threads(Array& first, const Column& one, Array& second, const Column& other) {
  std::thread thread([&] { first.execute(one.operation, one.memory); });
  second.execute(other.operation, other.memory);
  thread.join();
}

class ArraysOfOneFile : public ::testing::TestWithParam<Method> {
 protected:
  ArraysOfOneFile() { file_.write(Bytes(kRows * kArrays * kElementBytes)); }

  const EngineTestFile file_;
};

TEST_P(ArraysOfOneFile, KeepEachOthersBytes) {
  for (const WriteBoth& write_both : {write_in_background, write_one_in_background, write_by_threads}) {
    EXPECT_EQ(lost(make_solo_comm(), file_.path(), GetParam(), write_both), 0);
  }
}

TEST_P(ArraysOfOneFile, OfRanksKeepEachOthersBytes) {
  for (const WriteBoth& write_both : {write_in_background, write_one_in_background}) {
    const auto ended = run_forked(2, [&](NodeShared& comm) {
      const std::shared_ptr<Comm> shared(&comm, [](Comm*) {});
      EXPECT_EQ(lost(shared, file_.path(), GetParam(), write_both), 0);
    });
    for (const int status : ended) EXPECT_EQ(status, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(ByEveryMethod, ArraysOfOneFile,
                         ::testing::Values(Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase),
                         [](const auto& info) {
                           return info.param == Method::kTwoPhase ? "two_phase" : to_string(info.param);
                         });

// Simulated ranks execute the operations when they wait for them; here they wait in different orders.
TEST(ArraysOfOneFileOfSimulatedRanks, AreWaitedForInAnyOrder) {
  const EngineTestFile file;
  file.write(Bytes(kRows * kArrays * kElementBytes));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    expect_no_errors(on_all_ranks({3, 2, true, seed}, [&](Comm& comm) {
      const std::shared_ptr<Comm> shared(&comm, [](Comm*) {});
      EXPECT_EQ(lost(shared, file.path(), Method::kTwoPhase, write_in_background), 0);
      EXPECT_EQ(lost(shared, file.path(), Method::kList, write_one_in_background), 0);
    }));
  }
}

TEST(FileOfArrays, IsWrittenInTurnWhereBytesAreWrittenAsTheyAre) {
  const EngineTestFile file;
  file.write(Bytes(kRows * kArrays * kElementBytes));
  const auto open = open_slow(file.path());
  const auto array = array_of(make_solo_comm(), open);
  for (int turn = 1; turn <= kTurns; ++turn) {
    const Column one(*array, 0, Direction::kWrite, Method::kSieve);
    Future write = array->start(one.operation, one.memory, {});
    const Bytes between(kElementBytes, static_cast<std::byte>(turn));
    for (const int64_t row : {int64_t{0}, kRows / 2, kRows - 1}) {
      open->write((row * kArrays + 1) * kElementBytes, between);
    }
    write.wait();
    for (const int64_t row : {int64_t{0}, kRows / 2, kRows - 1}) {
      Bytes again(kElementBytes);
      open->read((row * kArrays + 1) * kElementBytes, again);
      EXPECT_EQ(again, between) << "row " << row;
    }
  }
}

// One thread writes an array; others read and write another one. No two threads wait for each other.
TEST(FileOfArrays, IsWrittenByThreadsInAnyWayWithoutADeadlock) {
  const EngineTestFile file;
  file.write(Bytes(kRows * kArrays * kElementBytes));
  const auto open = File::open(file.path(), OpenMode::kReadWrite);
  const auto first = array_of(make_solo_comm(), open);
  const auto second = array_of(make_solo_comm(), open);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      Random random(static_cast<uint64_t>(number));
      for (int turn = 0; turn < 200; ++turn) {
        Array& array = random.chance(50) ? *first : *second;
        const Direction direction = random.chance(70) ? Direction::kWrite : Direction::kRead;
        const Column column(array, &array == first.get() ? 0 : 1, direction, Method::kSieve);
        if (random.chance(50)) {
          array.execute(column.operation, column.memory);
        } else {
          Future future = array.start(column.operation, column.memory, {});
          if (random.chance(30)) future.cancel();
          if (!future.is_done()) future.wait();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  first->close();
  second->close();
}

}  // namespace
}  // namespace swath
