// Two-phase on an object store: windows are moved as a whole, as lists, or as descriptions that the servers execute.
// The store is a file that is accessed like a pool (testing/object_engine.h); store/rados/engine_test.cc tests a real
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testing/object_engine.h"
#include "testing/run_plans.h"

namespace swath {
namespace {

using namespace swath::testing;

OpenEngine objects_in(const std::string& engine, const std::string& path, const StripeMap& stripes) {
  return [=](int) {
    return std::make_unique<ObjectEngine>(open_engine(path, OpenMode::kReadWrite, {.engine = engine}), stripes);
  };
}

Request two_phase(const RequestCase& given, Direction direction, Method inner, Random& random) {
  Tuning tuning = random_tuning(random);
  tuning.inner = inner;
  Request request = given.request(direction, Method::kTwoPhase, tuning);
  request.capabilities = ObjectEngine::capabilities_of(random_stripes(random));
  return request;
}

class Inner : public ::testing::TestWithParam<Method> {
 protected:
  // Calls check(given, plan, machine, memory, file) for random requests at 1 to 5 ranks.
  template <typename Check>
  void for_random_requests(Direction direction, uint64_t seed, const Check& check) const {
    Random random(seed);
    for (int i = 0; i < 150 && !HasFailure(); ++i) {
      const RequestCase given =
          random_request(random, {.strided_memory = random.chance(60),
                                  .overlapping_boxes = direction == Direction::kRead && random.chance(20)});
      const Machine machine = random_machine(random, given.decomposition.ranks());
      Request request = two_phase(given, direction, GetParam(), random);
      request.messages = machine.needs_messages();
      const Plan plan = make_plan(request);
      SCOPED_TRACE(given.text + text_of(direction, Method::kTwoPhase) + machine.text());
      auto memory = memory_of_ranks(random, given);
      check(given, plan, machine, memory, random_bytes(random, given.file_bytes()));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Is, Inner, ::testing::Values(Method::kSieve, Method::kList, Method::kDatatype),
                         [](const auto& param) { return to_string(param.param); });

TEST_P(Inner, ReadsEveryElementToItsPlaceAndTouchesNoOtherByteOfMemory) {
  for_random_requests(
      Direction::kRead, 1,
      [](const auto& given, const Plan& plan, const Machine& machine, auto& memory, const Bytes& bytes) {
        const EngineTestFile file;
        file.write(bytes);
        auto expected = memory;
        read_plainly(given, bytes, expected);
        const auto engines = objects_in("posix", file.path(), *plan.request.capabilities.stripes);
        expect_no_errors(run_on(machine, plan, memory, engines).errors);
        for (size_t rank = 0; rank < memory.size(); ++rank) {
          EXPECT_EQ(memory[rank].buffers(), expected[rank].buffers()) << "rank " << rank;
        }
        EXPECT_EQ(file.contents(), bytes);
      });
}

TEST_P(Inner, WritesEveryElementToItsPlaceAndLeavesEveryGapAsItWas) {
  for_random_requests(
      Direction::kWrite, 2,
      [](const auto& given, const Plan& plan, const Machine& machine, auto& memory, const Bytes& bytes) {
        const EngineTestFile file;
        file.write(bytes);
        Bytes expected = bytes;
        write_plainly(given, expected, memory);
        const auto engines = objects_in("posix", file.path(), *plan.request.capabilities.stripes);
        expect_no_errors(run_on(machine, plan, memory, engines).errors);
        EXPECT_EQ(file.contents(), expected);
      });
}

// With a modelled disk's time, and with the null store: the overlap of transfers and exchanges differs.
TEST_P(Inner, CountsWhatThePlanSaidOnEveryEngine) {
  for (const std::string engine : {"posix", "null", "model:ssd"}) {
    int64_t moved = 0;
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
      for_random_requests(
          direction, 3,
          [&](const auto& /*given*/, const Plan& plan, const Machine& machine, auto& memory, const Bytes& bytes) {
            const EngineTestFile file;
            file.write(bytes);
            const auto engines = objects_in(engine, file.path(), *plan.request.capabilities.stripes);
            const auto outcome = run_on(machine, plan, memory, engines);
            expect_no_errors(outcome.errors);
            for (size_t rank = 0; rank < memory.size(); ++rank) {
              const IoCounts cost = plan.cost(plan.method, static_cast<int>(rank));
              EXPECT_TRUE(cost.exact);
              EXPECT_EQ(text_of(outcome.counters[rank]), text_of(cost)) << "rank " << rank << " on " << engine;
              EXPECT_LE(outcome.counters[rank].buffer_bytes, cost.buffer_bytes) << "rank " << rank;
              moved += cost.requests();
              // With lists or descriptions, no window is read and written back.
              EXPECT_EQ(cost.locks, 0);
            }
          });
    }
    EXPECT_GT(moved, 500) << engine;
  }
}

TEST_P(Inner, ThrowsTheSameErrorOnAllRanksAndChangesNoForeignByte) {
  int64_t failures = 0;
  for (int64_t attempt = 0; attempt < 3; ++attempt) {
    for_random_requests(
        Direction::kWrite, 4,
        [&](const auto& given, const Plan& plan, const Machine& machine, auto& memory, const Bytes& bytes) {
          const EngineTestFile file;
          file.write(bytes);
          Bytes written = bytes;
          write_plainly(given, written, memory);
          const StripeMap stripes = *plan.request.capabilities.stripes;
          const int broken = machine.ranks / 2;
          const std::string rule = "fault:write@" + std::to_string(attempt) + "=ENOSPC";
          const auto errors = run_on(machine, plan, memory, [&](int rank) {
                                return objects_in(rank == broken ? rule : "posix", file.path(), stripes)(rank);
                              }).errors;
          for (const auto& error : errors) {
            EXPECT_STREQ(error.what(), errors[0].what());
            EXPECT_EQ(error.os_error(), errors[0].os_error());
          }
          failures += errors[0].kind() == ErrorKind::kNone ? 0 : 1;
          const Bytes after = file.contents();
          ASSERT_EQ(after.size(), bytes.size());
          for (size_t i = 0; i < after.size(); ++i) {
            EXPECT_TRUE(after[i] == bytes[i] || after[i] == written[i]) << "byte " << i;
          }
        });
  }
  EXPECT_GT(failures, 30);
}

// ---- What is planned ----------------------------------------------------------------------------------------------

constexpr StripeMap kStripes{64 << 10, 4, 4 << 20};

// Each of `ranks` has every `ranks`-th block of 8 bytes; blocks are `distance` apart.
Request interleaved(Direction direction, int ranks, int64_t blocks, int64_t distance) {
  Request request;
  request.direction = direction;
  request.layout = std::make_shared<Layout>(Layout::ordered({blocks, distance / 8}, 8, 0, {0, 1}));
  request.decomposition = Decomposition::distributed(
      Distribution({{DimensionRule::Kind::kCyclic, 1}, {DimensionRule::Kind::kWhole, 0}}, {ranks, 1}),
      {{0, 1, blocks, false}, {0, 1, 1, false}}, ranks);
  request.capabilities = ObjectEngine::capabilities_of(kStripes);
  request.method = Method::kTwoPhase;
  return request;
}

TEST(InnerMethod, OfManySmallRegionsIsADescription) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    const Plan plan = make_plan(interleaved(direction, 4, 16'384, 1 << 16));
    EXPECT_EQ(plan.inner(), Method::kDatatype);
    EXPECT_EQ(plan.reason, "asked for");
  }
}

TEST(InnerMethod, OfWindowsThatAreNearlyFullIsToReadThemWhole) {
  EXPECT_EQ(make_plan(interleaved(Direction::kRead, 4, 1 << 20, 16)).inner(), Method::kSieve);
}

TEST(InnerMethod, OfAWriteIsNeverALockAndAReadAndAWrite) {
  for (const int64_t distance : {16, 128, 1024, 1 << 16}) {
    for (const bool takes_descriptions : {true, false}) {
      Request request = interleaved(Direction::kWrite, 4, 16'384, distance);
      request.capabilities = ObjectEngine::capabilities_of(kStripes, takes_descriptions);
      const Plan plan = make_plan(request);
      EXPECT_NE(plan.inner(), Method::kSieve);
      EXPECT_TRUE(takes_descriptions || plan.inner() == Method::kList);
      for (int rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(plan.cost(Method::kTwoPhase, rank).read_requests, 0);
        EXPECT_EQ(plan.cost(Method::kTwoPhase, rank).locks, 0);
      }
    }
  }
}

TEST(InnerMethod, IsTheCallersWhereOneIsAskedForAndTheReasonSaysWhatCannotBe) {
  for (const Method inner : {Method::kSieve, Method::kList, Method::kDatatype}) {
    Request request = interleaved(Direction::kWrite, 4, 16'384, 1024);
    request.tuning.inner = inner;
    request.asked_tuning.inner = true;
    EXPECT_EQ(make_plan(request).inner(), inner);
    request.capabilities = ObjectEngine::capabilities_of(kStripes, false);
    const Plan without = make_plan(request);
    EXPECT_EQ(without.inner(), inner == Method::kDatatype ? Method::kList : inner);
    EXPECT_EQ(without.reason.find("takes no descriptions") != std::string::npos, inner == Method::kDatatype);
    request.capabilities = {};  // a file
    EXPECT_EQ(make_plan(request).inner(), inner == Method::kDatatype ? Method::kList : inner);
  }
}

TEST(InnerMethod, OfBoxesThatOverlapIsToReadWindowsWhole) {
  const std::vector<Boxes> boxes{{{{0}, {3}}, {{10}, {20}}}, {{{2}, {5}}, {{15}, {30}}}};
  Request request;
  request.layout = std::make_shared<Layout>(Layout::ordered({100}, 8, 0, {0}));
  request.decomposition = Decomposition::boxes(boxes, {100});
  request.capabilities = ObjectEngine::capabilities_of(kStripes);
  request.method = Method::kTwoPhase;
  EXPECT_EQ(make_plan(request).inner(), Method::kSieve);
  request.tuning.inner = Method::kDatatype;
  request.asked_tuning.inner = true;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.inner(), Method::kSieve);
  EXPECT_NE(plan.reason.find("may overlap"), std::string::npos) << plan.reason;
}

TEST(InnerMethod, TakesOneRequestAnObjectAWindow) {
  Request request = interleaved(Direction::kRead, 1, 16'384, 1024);
  request.tuning.inner = Method::kDatatype;
  request.tuning.window_bytes = 1 << 20;
  request.asked_tuning = AskedTuning::all();
  EXPECT_EQ(make_plan(request).cost(Method::kTwoPhase, 0).read_requests, 16 * 4);
  request.tuning.window_bytes = 16 << 20;  // whole objects
  EXPECT_EQ(make_plan(request).cost(Method::kTwoPhase, 0).read_requests, 4);
}

// ---- File domains and windows -------------------------------------------------------------------------------------

TEST(InnerMethod, FileDomainsEndWhereStripesDo) {
  Random random(5);
  int64_t inner_ends = 0;
  for (int i = 0; i < 500; ++i) {
    const StripeMap stripes = random_stripes(random);
    const int ranks = static_cast<int>(random.between(1, 5));
    Request request = interleaved(Direction::kWrite, ranks, random.between(ranks, 5000), 8 * random.between(1, 40));
    request.capabilities = ObjectEngine::capabilities_of(stripes);
    request.tuning.domain_bytes_min = 1;
    if (random.chance(50)) {
      request.tuning.window_bytes = random.between(1, 5000);
      request.asked_tuning.window_bytes = true;
    }
    const Plan plan = make_plan(request);
    for (size_t d = 0; d + 1 < plan.domains.size(); ++d) {
      const FileDomain domain = plan.domains[d];
      if (domain.end == plan.domains[0].begin) continue;  // an empty domain before the first element
      EXPECT_EQ(domain.end % stripes.stripe_bytes, 0);
      ++inner_ends;
    }
  }
  EXPECT_GT(inner_ends, 300);
}

TEST(InnerMethod, LongFileDomainsEndWhereObjectsDo) {
  Request request = interleaved(Direction::kWrite, 4, 1 << 22, 256);  // 1 GiB, 256 MiB each
  request.asked_tuning.aggregators = true;
  const Plan plan = make_plan(request);
  ASSERT_EQ(plan.domains.size(), 4);
  for (size_t d = 0; d < 3; ++d) EXPECT_EQ(plan.domains[d].end % (16 << 20), 0);
}

TEST(InnerMethod, WindowsHaveAsMuchOfEachObject) {
  for (const StripeMap& stripes : {kStripes, StripeMap{1000, 3, 30'000}, StripeMap{8 << 20, 4, 8 << 20}}) {
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
      Request request = interleaved(direction, 4, 1 << 18, 1024);
      request.capabilities = ObjectEngine::capabilities_of(stripes);
      const Plan plan = make_plan(request);
      const int64_t window = plan.request.tuning.window_bytes;
      const int64_t row = stripes.stripe_bytes * stripes.servers;
      const int64_t set = stripes.object_bytes * stripes.servers;
      EXPECT_EQ(row > 16 << 20 ? stripes.stripe_bytes % window : window % row, 0) << window;
      if (window >= set) EXPECT_EQ(window % set, 0) << window;
    }
  }
}

}  // namespace
}  // namespace swath
