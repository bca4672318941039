// What is done again is right whatever has changed since, and where a rank would plan otherwise nothing is done at all.
#include "method/again.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/simulated.h"
#include "plan/make_plan.h"
#include "store/engine_test_file.h"
#include "store/fault.h"
#include "store/open_file.h"
#include "store/posix.h"

namespace swath {
namespace {

constexpr int64_t kElements = 37;  // ragged for 2, 3, 4 and 5 ranks
constexpr int64_t kElementBytes = 4;
constexpr int64_t kOffset = 5;  // of the array in the file

// Says of the page cache what the test says.
class TellingEngine final : public PosixEngine {
 public:
  TellingEngine(const std::string& path, const std::atomic<int>& cached_percent)
      : PosixEngine(std::make_shared<OpenFile>(path, OpenMode::kReadWrite, nullptr), int64_t{1} << 30),
        cached_percent_(cached_percent) {}
  std::optional<double> cached_part(int64_t, int64_t) const override { return cached_percent_ / 100.0; }

 private:
  const std::atomic<int>& cached_percent_;
};

// The elements of one rank in turn with the others: its memory, and where the file has them.
struct Share {
  int rank;
  int ranks;
  Bytes memory = Bytes(static_cast<size_t>((kElements - rank + ranks - 1) / ranks * kElementBytes));

  // Calls move(address in memory, offset in the file) for every byte.
  template <typename Move>
  void for_each_byte(const Move& move) {
    for (size_t i = 0; i < memory.size(); ++i) {
      const auto element = static_cast<int64_t>(i) / kElementBytes * ranks + rank;
      move(memory[i], static_cast<size_t>(kOffset + element * kElementBytes + static_cast<int64_t>(i) % kElementBytes));
    }
  }
};

Plan cyclic_plan(Direction direction, Method method, int ranks) {
  Request request;
  request.direction = direction;
  request.cached = 1;
  request.layout = std::make_shared<Layout>(Layout::strided({kElements}, kElementBytes, kOffset, {kElementBytes}));
  request.decomposition = Decomposition::distributed(Distribution({{DimensionRule::Kind::kCyclic, 1}}, {ranks}),
                                                     {{0, 1, kElements, false}}, ranks);
  request.method = method;
  return make_plan(std::move(request));
}

Again again_of(const Plan& plan, const std::string& asked, Share& share) {
  LocalMemory memory{plan.request.decomposition.parts(share.rank, kElementBytes), {share.memory.data()}};
  Note note{};
  note[kCached] = share.rank == 0 ? kCachedSteps : 0;
  return Again(plan, asked, note, share.rank == 0, std::move(memory), {});
}

// Throws nothing itself; what a rank threw is told by its number.
std::vector<Error> on_ranks(int ranks, uint64_t seed, const std::function<void(Comm&)>& body) {
  std::vector<Error> errors(static_cast<size_t>(ranks), Error(ErrorKind::kNone, ""));
  Simulation simulation(ranks, 1, seed);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      simulation.enter(rank);
      try {
        body(*simulation.comm(rank));
      } catch (const Error& error) {
        errors[static_cast<size_t>(rank)] = error;
      }
      simulation.leave(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

class DoneAgain : public testing::TestWithParam<std::tuple<int, Method>> {};

TEST_P(DoneAgain, ReadsWhatTheFileHoldsNowAndWritesWhatMemoryHolds) {
  const auto [ranks, method] = GetParam();
  const EngineTestFile file;
  const std::atomic<int> cached{100};
  const size_t file_bytes = kOffset + kElements * kElementBytes + 3;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    file.write(counting_bytes(file_bytes));
    Bytes expected;
    const auto errors = on_ranks(ranks, seed, [&, ranks = ranks, method = method](Comm& comm) {
      Share share{comm.rank(), ranks};
      TellingEngine engine(file.path(), cached);
      Again read = again_of(cyclic_plan(Direction::kRead, method, ranks), "read", share);
      Again write = again_of(cyclic_plan(Direction::kWrite, method, ranks), "write", share);
      for (int turn = 0; turn < 3; ++turn) {
        const Bytes before = file.contents();
        comm.barrier();
        const auto outcome = read.carry_out(share.memory.data(), 100 * turn + comm.rank(), comm, engine);
        ASSERT_TRUE(outcome.counters);
        EXPECT_GE(outcome.counters->read_bytes, method == Method::kTwoPhase ? 0 : std::ssize(share.memory));
        EXPECT_EQ(outcome.slowest_nanoseconds(), 100 * turn + ranks - 1);
        share.for_each_byte([&](std::byte& byte, size_t offset) {
          EXPECT_EQ(byte, before[offset]);
          byte ^= std::byte{0x55};
        });
        ASSERT_TRUE(write.carry_out(share.memory.data(), 0, comm, engine).counters);
        Bytes after = file.contents();
        for (size_t i = kOffset; i < kOffset + kElements * kElementBytes; ++i) after[i] ^= std::byte{0x55};
        EXPECT_EQ(after, before);
      }
    });
    for (const Error& error : errors) EXPECT_EQ(error.kind(), ErrorKind::kNone) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(, DoneAgain,
                         testing::Combine(testing::Values(1, 2, 3, 5),
                                          testing::Values(Method::kDirect, Method::kSieve, Method::kList,
                                                          Method::kTwoPhase)));

TEST(Again, IsNotDoneWhereTheRankThatSeesTheCacheSeesAnother) {
  const EngineTestFile file;
  const Bytes before = counting_bytes(400);
  file.write(before);
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    for (const int ranks : {1, 3}) {
      std::atomic<int> cached{100};
      const auto errors = on_ranks(ranks, 1, [&](Comm& comm) {
        Share share{comm.rank(), ranks};
        share.for_each_byte([&](std::byte& byte, size_t offset) { byte = before[offset]; });
        TellingEngine engine(file.path(), cached);
        Again again = again_of(cyclic_plan(direction, Method::kDirect, ranks), "it", share);
        comm.barrier();
        cached = 50;
        comm.barrier();
        const auto outcome = again.carry_out(share.memory.data(), 0, comm, engine);
        EXPECT_FALSE(outcome.counters);
        EXPECT_EQ(outcome.notes[0][kCached], kCachedSteps / 2);
        comm.barrier();
        cached = 98;  // a few pages make no difference
        comm.barrier();
        EXPECT_TRUE(again.carry_out(share.memory.data(), 0, comm, engine).counters);
      });
      for (const Error& error : errors) EXPECT_EQ(error.kind(), ErrorKind::kNone) << error.what();
      EXPECT_EQ(file.contents(), before);
    }
  }
}

// Says nothing of the page cache, and counts what is asked of it.
class SilentEngine final : public PosixEngine {
 public:
  SilentEngine(const std::string& path, std::atomic<int>& transfers)
      : PosixEngine(std::make_shared<OpenFile>(path, OpenMode::kReadWrite, nullptr), int64_t{1} << 30),
        transfers_(transfers) {}
  std::optional<double> cached_part(int64_t, int64_t) const override { return std::nullopt; }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override {
    ++transfers_;
    PosixEngine::transfer(direction, batch, counters);
  }

 private:
  std::atomic<int>& transfers_;
};

TEST(Again, WhereTheStoreDoesNotTellWhatIsCachedNothingIsReadBeforeTheAgreement) {
  const EngineTestFile file;
  file.write(counting_bytes(400));
  for (const bool is_alike : {true, false}) {
    std::atomic<int> transfers{0};
    const auto errors = on_ranks(2, 1, [&](Comm& comm) {
      Share share{comm.rank(), 2};
      SilentEngine engine(file.path(), transfers);
      Plan plan = cyclic_plan(Direction::kRead, Method::kDirect, 2);
      EXPECT_EQ(cached_steps(engine, *plan.request.layout, plan.request.decomposition), kCachedUnknown);
      plan.request.cached = std::nullopt;
      Note note{};
      if (comm.rank() == 0) note[kCached] = kCachedUnknown;
      LocalMemory memory{plan.request.decomposition.parts(share.rank, kElementBytes), {share.memory.data()}};
      const std::string asked = is_alike || comm.rank() == 0 ? "it" : "another";
      Again again(std::move(plan), asked, note, comm.rank() == 0, std::move(memory), {});
      EXPECT_TRUE(again.carry_out(share.memory.data(), 0, comm, engine).counters);
    });
    EXPECT_EQ(transfers, is_alike ? kElements : 0);
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), is_alike ? ErrorKind::kNone : ErrorKind::kDisagreement) << error.what();
    }
  }
}

TEST(Again, IsNotDoneWhereARankPlansAnewAndIsAnErrorWhereOneAsksForAnotherThing) {
  const EngineTestFile file;
  const Bytes before = counting_bytes(400);
  file.write(before);
  const std::atomic<int> cached{100};
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    for (int other = 0; other < 3; ++other) {
      const auto errors = on_ranks(3, static_cast<uint64_t>(other), [&](Comm& comm) {
        Share share{comm.rank(), 3};
        TellingEngine engine(file.path(), cached);
        Again again = again_of(cyclic_plan(direction, Method::kDirect, 3), "it", share);
        if (comm.rank() == other) {
          Note note{};
          note[kMemoryBlock] = 8;
          const auto notes = agree_same(comm, "it", std::nullopt, note);
          EXPECT_EQ(notes[static_cast<size_t>((other + 1) % 3)][kPlannedBy], kSameOperation);
          agree_same(comm, "another");
        } else {
          const auto outcome = again.carry_out(share.memory.data(), 0, comm, engine);
          EXPECT_FALSE(outcome.counters);
          EXPECT_EQ(outcome.notes[static_cast<size_t>(other)][kMemoryBlock], 8);
          again.carry_out(share.memory.data(), 0, comm, engine);
        }
      });
      for (const Error& error : errors) EXPECT_EQ(error.kind(), ErrorKind::kDisagreement) << error.what();
      EXPECT_EQ(file.contents(), before);
    }
  }
}

TEST(Again, AnErrorOfOneRankIsThatOfAll) {
  const EngineTestFile file;
  file.write(counting_bytes(400));
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    for (int culprit = 0; culprit < 3; ++culprit) {
      const auto errors = on_ranks(3, static_cast<uint64_t>(culprit), [&](Comm& comm) {
        Share share{comm.rank(), 3};
        const std::string fault = direction == Direction::kRead ? "fault:read@2=EIO" : "fault:write@2=ENOSPC";
        const auto engine =
            open_engine(file.path(), OpenMode::kReadWrite, {.engine = comm.rank() == culprit ? fault : "posix"});
        Again again = again_of(cyclic_plan(direction, Method::kDirect, 3), "it", share);
        again.carry_out(share.memory.data(), 0, comm, *engine);
      });
      for (const Error& error : errors) {
        EXPECT_EQ(error.kind(), ErrorKind::kStore);
        EXPECT_EQ(std::string(error.what()).substr(0, 7), "rank " + std::to_string(culprit) + ":");
        EXPECT_EQ(error.os_error(), errors[0].os_error());
      }
    }
  }
}

Outcome read_at_once(Share& share, Comm& comm, Engine& engine) {
  const Plan plan = cyclic_plan(Direction::kRead, Method::kList, share.ranks);
  const LocalMemory memory{plan.request.decomposition.parts(share.rank, kElementBytes), {share.memory.data()}};
  Note note{};
  note[kOwnNanoseconds] = share.rank + 7;
  note[kPlannedBy] = kConditionsAgreedLast;
  return read_then_agree(plan, "it", note, memory, {}, comm, engine);
}

TEST(ReadThenAgree, ReadsWhatTheFileHolds) {
  const EngineTestFile file;
  const Bytes before = counting_bytes(400);
  file.write(before);
  const std::atomic<int> cached{100};
  for (const int ranks : {1, 2, 5}) {
    const auto errors = on_ranks(ranks, static_cast<uint64_t>(ranks), [&](Comm& comm) {
      Share share{comm.rank(), ranks};
      TellingEngine engine(file.path(), cached);
      const auto outcome = read_at_once(share, comm, engine);
      ASSERT_TRUE(outcome.counters);
      EXPECT_EQ(outcome.counters->read_bytes, std::ssize(share.memory));
      EXPECT_EQ(outcome.slowest_nanoseconds(), ranks - 1 + 7);
      share.for_each_byte([&](const std::byte& byte, size_t offset) { EXPECT_EQ(byte, before[offset]); });
    });
    for (const Error& error : errors) EXPECT_EQ(error.kind(), ErrorKind::kNone) << error.what();
  }
}

TEST(ReadThenAgree, DoesNotCountBesideARankWhosePlanIsAnother) {
  const EngineTestFile file;
  file.write(counting_bytes(400));
  const std::atomic<int> cached{100};
  for (int other = 0; other < 3; ++other) {
    const auto errors = on_ranks(3, static_cast<uint64_t>(other), [&](Comm& comm) {
      Share share{comm.rank(), 3};
      TellingEngine engine(file.path(), cached);
      Again again = again_of(cyclic_plan(Direction::kRead, Method::kDirect, 3), "it", share);
      const bool is_other = comm.rank() == other;
      EXPECT_FALSE(
          (is_other ? again.carry_out(share.memory.data(), 0, comm, engine) : read_at_once(share, comm, engine))
              .counters);
      if (is_other) {
        EXPECT_EQ(agree_same(comm, "it")[static_cast<size_t>((other + 1) % 3)][kPlannedBy], kConditionsAgreedLast);
      } else {
        EXPECT_FALSE(read_at_once(share, comm, engine).counters);
      }
    });
    for (const Error& error : errors) EXPECT_EQ(error.kind(), ErrorKind::kNone) << error.what();
  }
}

TEST(ReadThenAgree, AnErrorOfOneRankIsThatOfAll) {
  const EngineTestFile file;
  file.write(counting_bytes(400));
  for (int culprit = 0; culprit < 3; ++culprit) {
    const auto errors = on_ranks(3, static_cast<uint64_t>(culprit), [&](Comm& comm) {
      Share share{comm.rank(), 3};
      const auto engine = open_engine(file.path(), OpenMode::kReadWrite,
                                      {.engine = comm.rank() == culprit ? "fault:read@2=EIO" : "posix"});
      read_at_once(share, comm, *engine);
    });
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), ErrorKind::kStore);
      EXPECT_EQ(std::string(error.what()).substr(0, 7), "rank " + std::to_string(culprit) + ":");
    }
  }
}

}  // namespace
}  // namespace swath
