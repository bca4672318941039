// Every method with simulated ranks and a file: exactly the bytes of the plain list move.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "comm/simulated.h"
#include "method/run.h"
#include "store/engine_test_file.h"
#include "store/fault/fault.h"
#include "store/open_file.h"
#include "store/posix/engine.h"
#include "testing/ranks_and_memory.h"
#include "testing/requests.h"
#include "testing/run_plans.h"

namespace swath {
namespace {

using namespace swath::testing;
using Kind = DimensionRule::Kind;

constexpr Method kMethods[] = {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase};

// Reports that nothing is in the page cache, so that windows are read in the background.
class ColdEngine final : public PosixEngine {
 public:
  using PosixEngine::PosixEngine;
  std::optional<double> cached_part(int64_t, int64_t) const override { return 0; }
};

OpenEngine engines_of(const std::string& name, const std::string& path, const Tuning& tuning) {
  return [=](int) {
    return open_engine(path, OpenMode::kReadWrite, {.engine = name, .request_bytes_max = tuning.request_bytes_max});
  };
}

OpenEngine posix_engines(const std::string& path, const Tuning& tuning) { return engines_of("posix", path, tuning); }

// Engines that look at the page cache.
OpenEngine looking_engines(const std::string& path, const Tuning& tuning) { return engines_of("auto", path, tuning); }

OpenEngine cold_engines(const std::string& path, const Tuning& tuning) {
  return [=](int) {
    return std::make_unique<ColdEngine>(std::make_shared<OpenFile>(path, OpenMode::kReadWrite, nullptr),
                                        tuning.request_bytes_max);
  };
}

// ---- Every method against the plain list ----------------------------------------------------------------------------

Tuning random_tuning(Random& random, Method method) {
  Tuning tuning = swath::testing::random_tuning(random);
  tuning.bounce_bytes = random.one_of<int64_t>({1, 30, 4 << 20});
  tuning.list_pieces = random.one_of<int64_t>({1, 3, 1024});
  // Windows are smaller than any real bound of a request; runs need not be.
  if ((method == Method::kDirect || method == Method::kList) && random.chance(30)) tuning.request_bytes_max = 40;
  return tuning;
}

// Calls check(given, plan, machine, memory, file, text) for random requests by `method`.
template <typename Check>
void for_random_requests(Direction direction, Method method, uint64_t seed, bool strided_memory, const Check& check) {
  Random random(seed);
  for (int i = 0; i < 250 && !::testing::Test::HasFailure(); ++i) {
    const RequestCase given = swath::testing::random_request(
        random, {.strided_memory = strided_memory && random.chance(60),
                 .overlapping_boxes = direction == Direction::kRead && random.chance(40)});
    const Machine machine = random_machine(random, given.decomposition.ranks());
    Request request = given.request(direction, method, random_tuning(random, method));
    request.messages = machine.needs_messages();
    SCOPED_TRACE(given.text + text_of(direction, method) + machine.text());
    const Plan plan = make_plan(request);
    auto memory = memory_of_ranks(random, given);
    const Bytes file = random_bytes(random, given.file_bytes());
    check(given, plan, machine, memory, file, random);
  }
}

class EveryMethod : public ::testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Is, EveryMethod, ::testing::ValuesIn(kMethods), [](const auto& param) {
  return param.param == Method::kTwoPhase ? std::string("TwoPhase") : to_string(param.param);
});

TEST_P(EveryMethod, ReadsEveryElementToItsPlaceAndTouchesNoOtherByteOfMemory) {
  for_random_requests(
      Direction::kRead, GetParam(), 1, true,
      [](const auto& given, const Plan& plan, const auto& machine, auto& memory, const Bytes& bytes, Random& random) {
        const EngineTestFile file;
        file.write(bytes);
        auto expected = memory;
        read_plainly(given, bytes, expected);
        const Tuning& tuning = plan.request.tuning;
        const auto engines_by = random.one_of({cold_engines, posix_engines, looking_engines});
        const auto engines = engines_by(file.path(), tuning);
        expect_no_errors(run_on(machine, plan, memory, engines).errors);
        for (size_t rank = 0; rank < memory.size(); ++rank) {
          EXPECT_EQ(memory[rank].buffers(), expected[rank].buffers()) << "rank " << rank;
        }
        EXPECT_EQ(file.contents(), bytes);
      });
}

TEST_P(EveryMethod, WritesEveryElementToItsPlaceAndLeavesEveryOtherByteOfTheFile) {
  for_random_requests(Direction::kWrite, GetParam(), 2, true,
                      [](const auto& given, const Plan& plan, const auto& machine, auto& memory, const Bytes& bytes,
                         Random& /*random*/) {
                        const EngineTestFile file;
                        file.write(bytes);
                        Bytes expected = bytes;
                        write_plainly(given, expected, memory);
                        const auto before = memory;
                        const auto engines = posix_engines(file.path(), plan.request.tuning);
                        expect_no_errors(run_on(machine, plan, memory, engines).errors);
                        EXPECT_EQ(file.contents(), expected);
                        for (size_t rank = 0; rank < memory.size(); ++rank) {
                          EXPECT_EQ(memory[rank].buffers(), before[rank].buffers()) << "rank " << rank;
                        }
                      });
}

TEST_P(EveryMethod, CountsWhatThePlanSaid) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    for_random_requests(direction, GetParam(), 3, false,
                        [](const auto& /*given*/, const Plan& plan, const auto& machine, auto& memory,
                           const Bytes& bytes, Random& random) {
                          const EngineTestFile file;
                          file.write(bytes);
                          const auto engines_by = random.one_of({posix_engines, looking_engines});
                          const auto outcome =
                              run_on(machine, plan, memory, engines_by(file.path(), plan.request.tuning));
                          expect_no_errors(outcome.errors);
                          for (size_t rank = 0; rank < memory.size(); ++rank) {
                            const IoCounts cost = plan.cost(plan.method, static_cast<int>(rank));
                            EXPECT_EQ(text_of(outcome.counters[rank]), text_of(cost)) << "rank " << rank;
                            EXPECT_LE(outcome.counters[rank].buffer_bytes, cost.buffer_bytes) << "rank " << rank;
                          }
                        });
  }
}

// ---- Errors ---------------------------------------------------------------------------------------------------------

// Every second row of 60 x 10 elements of 4 bytes, columns cyclic over three ranks: windows of 100 bytes give several
// rounds on each rank, and each window has a hole.
RequestCase interleaved_case() {
  Random random(0);
  RequestCase given;
  given.file = {{60, 10}, 4, 7, {40, 4}, {}, {}};
  given.layout = std::make_shared<Layout>(given.file.layout());
  const Selection selection = {{0, 2, 30, false}, {0, 1, 10, false}};
  const Distribution distribution({{Kind::kWhole, 0}, {Kind::kCyclic, 2}}, {1, 3});
  given.decomposition = Decomposition::distributed(distribution, selection, 3);
  for (int rank = 0; rank < 3; ++rank) {
    given.ranks.push_back({swath::testing::part_case(
        random, given.file, {selection, selection, swath::testing::owned(distribution, {30, 10}, rank)},
        distributed_part(distribution, selection, rank, 4), false)});
  }
  return given;
}

Request interleaved_request(const RequestCase& given, Direction direction, Method method, const Machine& machine) {
  Tuning tuning;
  tuning.sieve_bytes = 200;
  tuning.window_bytes = 100;
  tuning.domain_bytes_min = 1;
  tuning.list_pieces = 6;
  Request request = given.request(direction, method, tuning);
  request.messages = machine.needs_messages();
  return request;
}

// On rank `broken`, request number `attempt` of kind `step` fails.
OpenEngine broken_engines(const std::string& path, int broken, const std::string& rule) {
  return [=](int rank) {
    return open_engine(path, OpenMode::kReadWrite, {.engine = rank == broken ? "fault:" + rule : "posix"});
  };
}

struct BrokenStep {
  std::string name;  // the name in fault.h
  std::string error;
  int os_error;
  int64_t attempts;  // the number in the plan
};

// After any failure, bytes outside of the request are unchanged, and bytes in it have their old or new value.
void expect_only_own_bytes_changed(const RequestCase& given, const Bytes& before, const Bytes& after,
                                   std::vector<UserMemory>& memory) {
  Bytes written = before;
  write_plainly(given, written, memory);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_TRUE(after[i] == before[i] || after[i] == written[i]) << "byte " << i;
  }
}

TEST_P(EveryMethod, ThrowsTheSameErrorOnAllRanksWhicheverRequestFails) {
  const RequestCase given = interleaved_case();
  Random random(4);
  int64_t failures = 0;
  for (const Machine& machine : {Machine{3, 1, true, 1}, Machine{3, 2, true, 2}, Machine{3, 3, false, 3}}) {
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
      const Plan plan = make_plan(interleaved_request(given, direction, GetParam(), machine));
      for (int broken = 0; broken < 3; ++broken) {
        const IoCounts cost = plan.cost(plan.method, broken);
        for (const BrokenStep& step : {BrokenStep{"read", "EIO", EIO, cost.read_requests},
                                       BrokenStep{"write", "ENOSPC", ENOSPC, cost.write_requests},
                                       BrokenStep{"lock", "ENOLCK", ENOLCK, cost.locks}}) {
          for (int64_t attempt = 0; attempt <= step.attempts; ++attempt) {
            const std::string rule = step.name + "@" + std::to_string(attempt) + "=" + step.error;
            SCOPED_TRACE(rule + " of rank " + std::to_string(broken) + text_of(direction, GetParam()) + machine.text());
            const EngineTestFile file;
            const Bytes before = random_bytes(random, given.file_bytes());
            file.write(before);
            auto memory = memory_of_ranks(random, given);
            const auto errors = run_on(machine, plan, memory, broken_engines(file.path(), broken, rule)).errors;
            if (attempt == step.attempts) {  // one more than there are
              expect_no_errors(errors);
              continue;
            }
            ++failures;
            for (const auto& error : errors) {
              EXPECT_STREQ(error.what(), errors[0].what());
              EXPECT_EQ(error.kind(), ErrorKind::kStore);
              EXPECT_EQ(error.os_error(), step.os_error);
            }
            const std::string message = errors[0].what();
            EXPECT_TRUE(message.starts_with("rank " + std::to_string(broken) + ": " + step.name + " " + file.path()))
                << message;
            if (direction == Direction::kRead) {
              EXPECT_EQ(file.contents(), before);
            } else {
              expect_only_own_bytes_changed(given, before, file.contents(), memory);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(failures, 50);
}

TEST_P(EveryMethod, ThrowsTheErrorOfTheLowestRankWhereSeveralFail) {
  const RequestCase given = interleaved_case();
  const Machine machine{3, 1, true, 0};
  const Plan plan = make_plan(interleaved_request(given, Direction::kRead, GetParam(), machine));
  const EngineTestFile file;
  Random random(5);
  file.write(random_bytes(random, given.file_bytes()));
  auto memory = memory_of_ranks(random, given);
  const auto outcome = run_on(machine, plan, memory, [&](int rank) {
    const std::string engines[] = {"posix", "fault:read@1=ESTALE", "fault:read@0=EIO"};
    return open_engine(file.path(), OpenMode::kReadWrite, {.engine = engines[rank]});
  });
  for (const auto& error : outcome.errors) {
    EXPECT_TRUE(std::string(error.what()).starts_with("rank 1: read ")) << error.what();
    EXPECT_EQ(error.os_error(), ESTALE);
  }
}

TEST_P(EveryMethod, SurvivesShortTransfersAndInterruptions) {
  const RequestCase given = interleaved_case();
  const Machine machine{3, 2, true, 0};
  Random random(6);
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    const Plan plan = make_plan(interleaved_request(given, direction, GetParam(), machine));
    const EngineTestFile file;
    const Bytes before = random_bytes(random, given.file_bytes());
    file.write(before);
    auto memory = memory_of_ranks(random, given);
    auto expected_memory = memory;
    Bytes expected_file = before;
    if (direction == Direction::kRead) {
      read_plainly(given, before, expected_memory);
    } else {
      write_plainly(given, expected_file, memory);
    }
    const auto engines = broken_engines(file.path(), 1, "read@0=short,write@0=short,read@2=EINTR,write@2=EINTR");
    expect_no_errors(run_on(machine, plan, memory, engines).errors);
    EXPECT_EQ(file.contents(), expected_file);
    for (size_t rank = 0; rank < memory.size(); ++rank) {
      EXPECT_EQ(memory[rank].buffers(), expected_memory[rank].buffers());
    }
  }
}

TEST(Run, OfAPlanWithoutAMethodIsRefusedOnAllRanks) {
  const RequestCase given = interleaved_case();
  const Machine machine{3, 1, true, 0};
  Plan plan = make_plan(interleaved_request(given, Direction::kRead, Method::kDirect, machine));
  plan.method = Method::kAuto;
  const EngineTestFile file;
  Random random(7);
  file.write(random_bytes(random, given.file_bytes()));
  auto memory = memory_of_ranks(random, given);
  for (const auto& error : run_on(machine, plan, memory, posix_engines(file.path(), {})).errors) {
    EXPECT_STREQ(error.what(), "rank 0: a plan names no method");
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
  }
}

// ---- Memory to memory -----------------------------------------------------------------------------------------------

// A C-ordered array at offset 0, distributed over `ranks` ranks, in any memory.
RequestCase whole_array_case(Random& random, const Shape& shape, int64_t element_bytes, int ranks) {
  RequestCase given;
  given.file = {shape, element_bytes, 0, swath::testing::c_strides(shape, element_bytes), {}, {}};
  given.text = given.file.text();
  const Selection selection = select_all(shape);
  Distribution distribution = swath::testing::random_distribution(random, shape);
  while (distribution.highest_rank() >= ranks) distribution = swath::testing::random_distribution(random, shape);
  given.decomposition = Decomposition::distributed(distribution, selection, ranks);
  given.text += " " + given.decomposition.to_string();
  for (int rank = 0; rank < ranks; ++rank) {
    given.ranks.push_back({swath::testing::part_case(
        random, given.file, {selection, selection, swath::testing::owned(distribution, shape, rank)},
        distributed_part(distribution, selection, rank, element_bytes), random.chance(50))});
  }
  return given;
}

// Any boxes of the array, also overlapping ones (ghost cells).
RequestCase boxes_case(Random& random, const RequestCase& whole) {
  RequestCase given;
  given.file = whole.file;
  given.text = whole.file.text();
  do {
    given.ranks.clear();
    swath::testing::share_as_boxes(random, given, {.strided_memory = true, .overlapping_boxes = true});
  } while (given.ranks.size() != whole.ranks.size());
  return given;
}

TEST(Redistribute, MovesEveryElementFromOneSharingToAnother) {
  Random random(8);
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    const auto ranks = static_cast<int>(random.between(1, 5));
    const Shape shape = swath::testing::random_shape(random, static_cast<size_t>(random.between(1, 3)));
    const int64_t element_bytes = random.one_of<int64_t>({1, 3, 8, 16});
    const RequestCase from = whole_array_case(random, shape, element_bytes, ranks);
    const RequestCase to =
        random.chance(30) ? boxes_case(random, from) : whole_array_case(random, shape, element_bytes, ranks);
    const Machine machine = random_machine(random, ranks);
    const Tuning tuning = swath::testing::random_tuning(random);
    SCOPED_TRACE("from " + from.text + " to " + to.text + machine.text());

    auto source = memory_of_ranks(random, from);
    auto target = memory_of_ranks(random, to);
    const auto source_before = source;
    auto expected = target;
    Bytes image(static_cast<size_t>(from.file_bytes()));
    write_plainly(from, image, source);
    read_plainly(to, image, expected);

    expect_no_errors(on_all_ranks(machine, [&](Comm& comm) {
      const auto rank = static_cast<size_t>(comm.rank());
      Progress progress;
      redistribute(element_bytes, {from.decomposition, source[rank].local()}, {to.decomposition, target[rank].local()},
                   comm, tuning, progress);
      EXPECT_EQ(progress.bytes_done, progress.bytes_total);
    }));
    for (size_t rank = 0; rank < target.size(); ++rank) {
      EXPECT_EQ(target[rank].buffers(), expected[rank].buffers()) << "rank " << rank;
      EXPECT_EQ(source[rank].buffers(), source_before[rank].buffers()) << "rank " << rank;
    }
  }
}

TEST(Redistribute, GivesEveryRankAllOfAnArrayThatWasDealtOutElementByElement) {
  const int64_t elements = 10'000;
  const auto ranks = size_t{4};
  const Distribution cyclic({{Kind::kCyclic, 1}}, {static_cast<int64_t>(ranks)});
  const Decomposition from = Decomposition::distributed(cyclic, select_all({elements}), static_cast<int>(ranks));
  const Decomposition to = Decomposition::boxes(std::vector<std::vector<Box>>(ranks, {{{0}, {elements}}}), {elements});
  std::vector<std::vector<int64_t>> target(ranks, std::vector<int64_t>(static_cast<size_t>(elements)));
  expect_no_errors(on_all_ranks({static_cast<int>(ranks)}, [&](Comm& comm) {
    std::vector<int64_t> mine;
    for (int64_t i = comm.rank(); i < elements; i += comm.size()) mine.push_back(i);
    auto& all = target[static_cast<size_t>(comm.rank())];
    Progress progress;
    redistribute(8, {from, {from.parts(comm.rank(), 8), {reinterpret_cast<std::byte*>(mine.data())}}},
                 {to, {to.parts(comm.rank(), 8), {reinterpret_cast<std::byte*>(all.data())}}}, comm, {}, progress);
  }));
  std::vector<int64_t> expected(static_cast<size_t>(elements));
  std::iota(expected.begin(), expected.end(), 0);
  for (const auto& all : target) EXPECT_EQ(all, expected);
}

// ---- Fill values ----------------------------------------------------------------------------------------------------

TEST(FillAbsent, FillsTheElementsOfChunksThatAreNotInTheFileAndNoOthers) {
  Random random(9);
  int64_t filled = 0;
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    const RequestCase given = swath::testing::random_request(random, {.strided_memory = random.chance(50)});
    SCOPED_TRACE(given.text);
    const Bytes fill = random_bytes(random, given.file.element_bytes);
    auto memory = memory_of_ranks(random, given);
    auto expected = memory;
    for (size_t rank = 0; rank < memory.size(); ++rank) {
      for (size_t part = 0; part < given.ranks[rank].size(); ++part) {
        for (const auto& element : given.ranks[rank][part].absent) {
          std::memcpy(expected[rank].at(part, element.memory), fill.data(), fill.size());
          ++filled;
        }
      }
      fill_absent(*given.layout, memory[rank].local(), fill);
      EXPECT_EQ(memory[rank].buffers(), expected[rank].buffers()) << "rank " << rank;
    }
  }
  EXPECT_GT(filled, 500);
}

TEST(FillRange, RepeatsTheFillValueOverManyBuffersAndStopsAtItsEnd) {
  const EngineTestFile file;
  const int64_t elements = 3 << 20;  // more than two buffers of 4 MiB
  file.write(Bytes(static_cast<size_t>(10 + 3 * elements + 10)));
  const auto engine = open_engine(file.path(), OpenMode::kReadWrite, {.engine = "posix"});
  const Bytes fill = {std::byte{1}, std::byte{2}, std::byte{3}};
  fill_range(*engine, 10, 10 + 3 * elements, fill);
  const Bytes contents = file.contents();
  int64_t wrong = 0;
  for (size_t i = 0; i < contents.size(); ++i) {
    const bool inside = i >= 10 && i + 10 < contents.size();
    wrong += contents[i] == (inside ? fill[(i - 10) % 3] : std::byte{0}) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(contents.size(), static_cast<size_t>(10 + 3 * elements + 10));
}

// ---- Sieved writes --------------------------------------------------------------------------------------------------

// Whether another open file would have to wait for the lock of [begin, end).
bool is_locked(const std::string& path, int64_t begin, int64_t end) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = end - begin;
  EXPECT_EQ(::fcntl(descriptor, F_OFD_GETLK, &range), 0);
  ::close(descriptor);
  return range.l_type != F_UNLCK;
}

TEST(Update, KeepsTheHolesAndLocksTheWindowOnly) {
  const EngineTestFile file;
  const Bytes before = counting_bytes(100);
  file.write(before);
  const auto engine = open_engine(file.path(), OpenMode::kReadWrite, {.engine = "posix"});
  Bytes buffer(40);
  Counters counters;
  engine->update(
      {30, buffer.data(), 40}, true,
      [&](std::byte* window) {
        EXPECT_TRUE(is_locked(file.path(), 30, 31));
        EXPECT_TRUE(is_locked(file.path(), 69, 70));
        EXPECT_FALSE(is_locked(file.path(), 0, 30));
        EXPECT_FALSE(is_locked(file.path(), 70, 100));
        for (size_t i = 0; i < 40; i += 8) window[i] = std::byte{0xff};
      },
      counters);
  Bytes expected = before;
  for (size_t i = 30; i < 70; i += 8) expected[i] = std::byte{0xff};
  EXPECT_EQ(file.contents(), expected);
  EXPECT_FALSE(is_locked(file.path(), 0, 100));
  EXPECT_EQ(text_of(counters), counts_text(1, 40, 1, 40, 0, 1));
}

TEST(Update, WithoutHolesReadsNothingAndLocksAllTheSame) {
  const EngineTestFile file;
  file.write(counting_bytes(100));
  const auto engine = open_engine(file.path(), OpenMode::kReadWrite, {.engine = "fault:read@0=EIO"});
  Bytes buffer(40);
  Counters counters;
  engine->update(
      {30, buffer.data(), 40}, false,
      [&](std::byte* window) {
        EXPECT_TRUE(is_locked(file.path(), 30, 70));
        std::memset(window, 0xee, 40);
      },
      counters);
  EXPECT_EQ(file.contents()[69], std::byte{0xee});
  EXPECT_EQ(text_of(counters), counts_text(0, 0, 1, 40, 0, 1));
}

TEST(Update, ReleasesItsLockWhenItFails) {
  const EngineTestFile file;
  file.write(counting_bytes(100));
  const auto engine = open_engine(file.path(), OpenMode::kReadWrite, {.engine = "fault:write@0=ENOSPC"});
  Bytes buffer(40);
  Counters counters;
  EXPECT_EQ(error_of([&] { engine->update({30, buffer.data(), 40}, true, [](std::byte*) {}, counters); }).os_error(),
            ENOSPC);
  EXPECT_FALSE(is_locked(file.path(), 0, 100));
  EXPECT_EQ(file.contents(), counting_bytes(100));
}

}  // namespace
}  // namespace swath
