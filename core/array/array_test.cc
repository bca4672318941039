// Open arrays of simulated ranks: the bytes that move are those of the plain list, and the ranks agree by few messages.
#include "array/array.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "array/array_for_tests.h"
#include "comm/simulated.h"
#include "store/engine_test_file.h"
#include "store/fault/fault.h"
#include "testing/ranks_and_memory.h"
#include "testing/requests.h"

namespace swath {
namespace {

// The operation of one rank, which knows its own boxes only.
Operation operation_of(const Array& array, const RequestCase& given, int rank, Operation::Access access) {
  access.decomposition = given.decomposition;
  if (given.decomposition.is_boxes()) {
    access.decomposition = Decomposition::own_boxes(given.decomposition.boxes_of_rank()[static_cast<size_t>(rank)],
                                                    rank, given.decomposition.ranks(), given.file.shape);
  }
  return {array.form(), std::move(access)};
}

int64_t operations_wanted() {
  const char* asked = std::getenv("SWATH_RANDOM_OPERATIONS");
  return asked == nullptr ? 500 : std::strtoll(asked, nullptr, 10);
}

TuningSettings settings_of(const Tuning& tuning) {
  return {{"sieve_bytes", tuning.sieve_bytes},           {"window_bytes", tuning.window_bytes},
          {"domain_bytes_min", tuning.domain_bytes_min}, {"runs_bytes_min", tuning.runs_bytes_min},
          {"look_bytes_min", tuning.look_bytes_min},     {"aggregators", std::max(tuning.aggregators, 1)}};
}

// Writes random values by a random method, then reads them three times by another method, on random ranks.
void execute_randomly(Random& random) {
  const RequestCase given = random_request(random, {.strided_memory = random.chance(50)});
  const Machine machine = random_machine(random, given.decomposition.ranks());
  const auto engine = random.one_of<std::string>({"posix", "auto", "uring"});
  const auto methods = [&] {
    return random.one_of({Method::kAuto, Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase});
  };
  Operation::Access write{Direction::kWrite, {}, methods(), {}};
  Operation::Access read{Direction::kRead, {}, methods(), {}};
  if (random.chance(60)) write.tuning = read.tuning = settings_of(random_tuning(random));
  SCOPED_TRACE(given.text + machine.text() + ", written by " + to_string(write.method) + ", read by " +
               to_string(read.method) + " by " + engine);
  auto written = memory_of_ranks(random, given);
  auto memory = memory_of_ranks(random, given);
  const ByteVector bytes = random_bytes(random, given.file_bytes());
  const ByteVector fill = random_bytes(random, given.file.element_bytes);
  const EngineTestFile file;
  file.write(bytes);
  ByteVector expected_bytes = bytes;
  write_plainly(given, expected_bytes, written);
  auto expected = memory;
  read_plainly(given, expected_bytes, expected);
  for (size_t rank = 0; rank < given.ranks.size(); ++rank) {
    for (size_t part = 0; part < given.ranks[rank].size(); ++part) {
      for (const auto& element : given.ranks[rank][part].absent) {
        std::memcpy(expected[rank].at(part, element.memory), fill.data(), fill.size());
      }
    }
  }
  expect_no_errors(on_all_ranks(machine, [&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    Array array(shared(comm), open_by(engine, file.path()), options_of(given.layout, fill));
    array.execute(operation_of(array, given, comm.rank(), write), written[rank].local(), {});
    const Operation reading = operation_of(array, given, comm.rank(), read);
    for (int turn = 0; turn < 3; ++turn) array.execute(reading, memory[rank].local(), {});
  }));
  EXPECT_EQ(file.contents(), expected_bytes);
  for (size_t rank = 0; rank < memory.size(); ++rank) {
    EXPECT_EQ(memory[rank].buffers(), expected[rank].buffers()) << "rank " << rank;
  }
}

// SWATH_RANDOM_OPERATIONS sets a larger number.
TEST(Array, RandomOperationsMoveEveryElementToItsPlaceAndNothingElse) {
  Random random(2026);
  const int64_t wanted = operations_wanted();
  for (int64_t i = 0; i < wanted && !HasFailure(); i += 4) execute_randomly(random);
}

std::map<Call::Kind, int64_t> calls_between(const std::map<Call::Kind, int64_t>& before,
                                            const std::map<Call::Kind, int64_t>& after) {
  std::map<Call::Kind, int64_t> calls;
  for (const auto& [kind, count] : after) {
    const auto found = before.find(kind);
    const int64_t more = count - (found == before.end() ? 0 : found->second);
    if (more > 0) calls[kind] = more;
  }
  return calls;
}

// With any number of nodes, a read takes one reduction; its messages grow with the logarithm, their sizes do not.
TEST_F(ArrayOfRanks, AgreeByOneReductionOfConstantSize) {
  for (const int nodes : {2, 3, 4, 8, 16, 33, 64}) {
    Simulation simulation(nodes, nodes, 1);
    std::atomic<int64_t> counted = -1;
    run_ranks(simulation, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = reading(array, nodes);
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});  // the first one needs agreements before and after it
      comm.barrier();
      const Traffic before = simulation.traffic();
      comm.barrier();
      const Execution done = array.execute(operation, mine.local(), {});
      comm.barrier();
      EXPECT_TRUE(done.was_read_before_agreement);
      EXPECT_EQ(mine.bytes, every(bytes_, comm.rank(), nodes));
      const Traffic after = simulation.traffic();
      auto calls = calls_between(before.calls, after.calls);
      calls.erase(Call::Kind::kBarrier);
      EXPECT_EQ(calls, (std::map<Call::Kind, int64_t>{{Call::Kind::kAllreduce, 1}})) << nodes << " nodes";
      int64_t rounds = 0;
      while ((1 << rounds) < nodes) ++rounds;
      for (size_t node = 0; node < after.nodes.size(); ++node) {
        const int64_t messages = after.nodes[node].messages_sent - before.nodes[node].messages_sent;
        EXPECT_LE(messages, rounds + 1) << nodes << " nodes";
        const int64_t bytes = after.nodes[node].bytes_sent - before.nodes[node].bytes_sent;
        EXPECT_EQ(bytes, messages * 256);
      }
      counted = 1;
    });
    EXPECT_EQ(counted, 1);
  }
}

// Writes skip the speculative step: they cannot be undone if the ranks disagree.
TEST_F(ArrayOfRanks, AgreeTwiceOnAWrite) {
  Simulation simulation(4, 4, 1);
  run_ranks(simulation, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation operation = writing(array, 4);
    Share mine(operation, comm.rank());
    comm.barrier();
    const auto before = simulation.traffic().calls;
    comm.barrier();
    array.execute(operation, mine.local(), {});
    comm.barrier();
    auto calls = calls_between(before, simulation.traffic().calls);
    calls.erase(Call::Kind::kBarrier);
    EXPECT_EQ(calls, (std::map<Call::Kind, int64_t>{{Call::Kind::kAllreduce, 2}}));
  });
}

TEST_F(ArrayOfRanks, TellEachOtherNewBoxesOnceAndKnowThemFromThenOn) {
  constexpr int kRanks = 3;
  Simulation simulation(kRanks, kRanks, 1);
  run_ranks(simulation, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const auto read_boxes_of = [&](int64_t shift) {
      const int64_t begin = int64_t{10} * comm.rank() + shift;
      auto own = Decomposition::own_boxes({{{begin}, {begin + 5}}}, comm.rank(), kRanks, {kElements});
      const Operation operation(array.form(), {Direction::kRead, own, Method::kDirect, {}});
      Share mine(operation, comm.rank());
      comm.barrier();
      const auto before = simulation.traffic().calls;
      comm.barrier();
      array.execute(operation, mine.local(), {});
      comm.barrier();
      auto calls = calls_between(before, simulation.traffic().calls);
      calls.erase(Call::Kind::kBarrier);
      EXPECT_EQ(mine.bytes, ByteVector(bytes_.begin() + begin * 4, bytes_.begin() + begin * 4 + 20));
      return calls;
    };
    const std::map<Call::Kind, int64_t> agreed_before_and_after{{Call::Kind::kAllreduce, 2}};
    EXPECT_NE(read_boxes_of(0), agreed_before_and_after);
    EXPECT_EQ(read_boxes_of(0), agreed_before_and_after);
    EXPECT_NE(read_boxes_of(2), agreed_before_and_after);
    EXPECT_EQ(read_boxes_of(0), agreed_before_and_after);
    EXPECT_EQ(read_boxes_of(2), agreed_before_and_after);
    // Only one rank has new boxes: all ranks receive them.
    EXPECT_NE(read_boxes_of(comm.rank() == 1 ? 1 : 2), agreed_before_and_after);
  });
}

class EveryMethodOfRanks : public VectorTest, public ::testing::WithParamInterface<std::tuple<int, Method>> {};

INSTANTIATE_TEST_SUITE_P(Of, EveryMethodOfRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5),
                                            ::testing::Values(Method::kDirect, Method::kSieve, Method::kList,
                                                              Method::kTwoPhase)));

TEST_P(EveryMethodOfRanks, ReadsWhatTheFileHoldsNowAndWritesWhatMemoryHolds) {
  const auto [ranks, method] = GetParam();
  for (uint64_t seed = 0; seed < 5; ++seed) {
    file_.write(bytes_);
    run_ranks(
        ranks,
        [&, ranks = ranks, method = method](Comm& comm) {
          // On a busy machine the profile would learn, and the plan would change.
          Array::Options options = options_of(vector_layout());
          options.learning = std::make_shared<Learning>(std::make_shared<const Profile>(default_profile()), true);
          Array array(shared(comm), open_telling(file_.path(), cached_), options);
          const Operation read = reading(array, ranks, method);
          const Operation write = writing(array, ranks, method);
          Share mine(read, comm.rank());
          std::shared_ptr<const Plan> plan;
          for (int turn = 0; turn < 4; ++turn) {
            const ByteVector before = file_.contents();
            comm.barrier();
            const Execution done = array.execute(read, mine.local(), {});
            EXPECT_EQ(mine.bytes, every(before, comm.rank(), ranks));
            // An old plan is used again; if it needs no communication, the read comes before the agreement.
            if (turn > 0) EXPECT_EQ(done.plan, plan);
            EXPECT_EQ(done.was_read_before_agreement, turn > 0 && ranks > 1 && method != Method::kTwoPhase);
            plan = done.plan;
            for (std::byte& byte : mine.bytes) byte ^= std::byte{0x55};
            array.execute(write, mine.local(), {});
            ByteVector after = file_.contents();
            for (std::byte& byte : after) byte ^= std::byte{0x55};
            EXPECT_EQ(after, before);
          }
        },
        seed);
  }
}

TEST_F(ArrayOfRanks, ReadBeforeTheyAgreeOnlyWhatIsKnownToBeInThePageCache) {
  for (const double cached : {1.0, 0.5, 0.0, -1.0}) {
    cached_ = cached;
    run_ranks(3, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = reading(array, 3);
      Share mine(operation, comm.rank());
      for (int turn = 0; turn < 3; ++turn) {
        const Execution done = array.execute(operation, mine.local(), {});
        EXPECT_EQ(done.was_read_before_agreement, cached == 1 && turn > 0) << cached;
        EXPECT_EQ(mine.bytes, every(bytes_, comm.rank(), 3));
      }
    });
  }
}

TEST_F(ArrayOfRanks, ReadAnewWhereTheRankThatSeesTheCacheSeesAnother) {
  run_ranks(3, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation operation = reading(array, 3);
    Share mine(operation, comm.rank());
    for (const double cached : {1.0, 1.0, 0.0, 1.0}) {
      comm.barrier();
      cached_ = cached;
      comm.barrier();
      array.execute(operation, mine.local(), {});
      EXPECT_EQ(mine.bytes, every(bytes_, comm.rank(), 3));
    }
  });
}

TEST_F(ArrayOfRanks, ReadAnewWhereOneRankHasOtherMemory) {
  for (const int culprit : {0, 1, 2}) {
    run_ranks(3, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = reading(array, 3);
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});
      ByteVector wide(mine.bytes.size() * 2);
      Share spread(operation, comm.rank());
      place_in_memory(spread.parts[0], operation.decomposition().selection(), {8});
      LocalMemory memory{spread.parts, {wide.data()}, false};
      const Execution done = array.execute(operation, comm.rank() == culprit ? memory : mine.local(), {});
      EXPECT_FALSE(done.was_read_before_agreement);
      if (comm.rank() != culprit) return;
      for (size_t i = 0; i < mine.bytes.size(); ++i) EXPECT_EQ(wide[i / 4 * 8 + i % 4], mine.bytes[i]);
    });
  }
}

TEST_F(ArrayOfRanks, FillWhatNobodyWrites) {
  for (const bool writes : {false, true}) {
    file_.write(ByteVector(kElements * 4));
    run_ranks(3, [&](Comm& comm) {
      Array::Options options = options_of(vector_layout(), counting_bytes(4, 7));
      options.new_file = std::make_shared<AtomicFile>(
          AtomicFile::made_elsewhere(file_.path(), {.overwrite = true, .working_path = file_.path()}));
      Array array(shared(comm), open_by("posix", file_.path()), options);
      const Decomposition some =
          Decomposition::distributed(Distribution({{Kind::kBlock, 0}}, {3}), {{10, 1, 9, false}}, 3);
      const Operation operation(array.form(), {Direction::kWrite, some, Method::kDirect, {}});
      Share mine(operation, comm.rank());
      if (writes) array.execute(operation, mine.local(), {});
      array.close();
    });
    ByteVector expected;
    for (int64_t i = 0; i < kElements; ++i) {
      const ByteVector element = writes && i >= 10 && i < 19 ? ByteVector(4) : counting_bytes(4, 7);
      expected.insert(expected.end(), element.begin(), element.end());
    }
    EXPECT_EQ(file_.contents(), expected);
  }
}

// A failed write leaves old or new values; in a new array, the old value is the fill value.
TEST_F(ArrayOfRanks, FillWhatAFailedWriteLeaves) {
  file_.write(ByteVector(kElements * 4));
  Array::Options options = options_of(vector_layout(), counting_bytes(4, 7));
  options.new_file = std::make_shared<AtomicFile>(
      AtomicFile::made_elsewhere(file_.path(), {.overwrite = true, .working_path = file_.path()}));
  Array array(make_solo_comm(), open_by("fault:write@0=EIO", file_.path()), options);
  const Operation all = writing(array, 1);
  Share mine(all, 0);
  EXPECT_THROW(array.execute(all, mine.local()), Error);
  array.close();
  ByteVector expected;
  for (int64_t i = 0; i < kElements; ++i) {
    const ByteVector element = counting_bytes(4, 7);
    expected.insert(expected.end(), element.begin(), element.end());
  }
  EXPECT_EQ(file_.contents(), expected);
}

TEST_F(ArrayOfRanks, ExplainTheBoxesThatAreAskedFor) {
  Array array(make_solo_comm(), open_telling(file_.path(), cached_), options_of(vector_layout()));
  for (const int64_t end : {5, 30, 5}) {
    const Operation read(array.form(), {Direction::kRead, Decomposition::own_boxes({{{0}, {end}}}, 0, 1, {kElements})});
    EXPECT_EQ(array.explain(read, std::nullopt)->runs.bytes, end * 4);
  }
}

// The threads may be at any point when the process forks: the child waits for no lock of theirs.
TEST_F(ArrayOfRanks, AreReadByForkedChildrenWhileThreadsRead) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a forked child may wait for ever for the lock of AddressSanitizer's allocator that a thread had";
#endif
  Array array(make_solo_comm(), open_by("posix", file_.path()), options_of(vector_layout()));
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int64_t number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      for (int64_t i = number; !ends; ++i) {
        const Decomposition one = Decomposition::alone({{i % kElements, 1, 1, false}});
        ByteVector element(4);
        array.execute({array.form(), {Direction::kRead, one}}, packed_memory(one, 0, 4, element.data()));
      }
    });
  }
  int right = 0;
  for (int fork_number = 0; fork_number < 100; ++fork_number) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      const Operation all = reading(array, 1);
      Share mine(all, 0);
      array.execute(all, mine.local());
      ::_exit(mine.bytes == bytes_ ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    right += status == 0 ? 1 : 0;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 100);
}

TEST(FileOfBytes, ReadsFewerAtItsEndAndGrowsWithWhatIsWritten) {
  const EngineTestFile folder;
  folder.write(counting_bytes(10));
  const auto file = open_by("posix", folder.path());
  ByteVector bytes(6);
  EXPECT_EQ(file->read(2, bytes), 6);
  EXPECT_EQ(bytes, counting_bytes(6, 3));
  EXPECT_EQ(file->read(7, bytes), 3);
  EXPECT_EQ(bytes[2], counting_bytes(10)[9]);
  EXPECT_EQ(file->read(10, bytes), 0);
  EXPECT_EQ(file->read(int64_t{1} << 40, bytes), 0);
  EXPECT_THROW(file->read(-1, bytes), Error);
  file->write(15, bytes);
  EXPECT_EQ(file->size(), 21);
  EXPECT_EQ(folder.contents()[12], std::byte{0});
}

TEST(FileOfBytes, HoldsSeveralArrays) {
  const EngineTestFile folder;
  folder.write(ByteVector(80));
  const auto file = open_by("auto", folder.path());
  const std::shared_ptr<Comm> comm = make_solo_comm();
  const auto array_at = [&](int64_t offset) {
    Array::Options options;
    const auto layout = std::make_shared<const Layout>(Layout::ordered({10}, 4, offset, {0}));
    options.form = std::make_shared<const ArrayForm>("at " + std::to_string(offset), Shape{10}, 4, layout);
    return std::make_unique<Array>(comm, file, options);
  };
  const auto first = array_at(0);
  const auto second = array_at(40);
  for (Array* array : {first.get(), second.get()}) {
    const Operation write(array->form(),
                          {Direction::kWrite, Decomposition::alone(select_all({10})), Method::kAuto, {}});
    Share values(write, 0);
    values.bytes = counting_bytes(40, array == first.get() ? 1 : 100);
    array->execute(write, values.local(), {});
  }
  ByteVector expected = counting_bytes(40, 1);
  const ByteVector behind = counting_bytes(40, 100);
  expected.insert(expected.end(), behind.begin(), behind.end());
  EXPECT_EQ(folder.contents(), expected);
}

// ---- plans that are kept ------------------------------------------------------------------------------------------

TEST(PlanCache, KeepsTheLatest) {
  const auto layout = vector_layout();
  const auto form = std::make_shared<const ArrayForm>("a", layout->shape(), 4, layout);
  const auto reading = [&](int64_t begin) {
    return Operation(form, {Direction::kRead, Decomposition::alone({{begin, 1, 1, false}}), Method::kAuto, {}});
  };
  PlanCache plans;
  PlanInputs inputs;
  const auto first = plans.plan(reading(0), inputs).plan;
  EXPECT_EQ(plans.plan(reading(0), inputs).plan, first);
  PlanInputs cold;
  cold.agreed_inputs.cached_steps = 0;
  EXPECT_NE(plans.plan(reading(0), cold).plan, first);
  EXPECT_EQ(plans.plan(reading(0), inputs).plan, first);
  for (int turn = 0; turn < 3; ++turn) {
    for (int64_t begin = 1; begin < kElements; ++begin) plans.plan(reading(begin), inputs);
  }
  EXPECT_EQ(plans.plan(reading(0), inputs).plan, first);
  for (int64_t begin = 0; begin < 64; ++begin) {
    plans.plan(
        Operation(
            form,
            {Direction::kRead, Decomposition::alone({{0, 1, 1, false}}), Method::kAuto, {{"sieve_bytes", begin + 1}}}),
        inputs);
  }
  EXPECT_NE(plans.plan(reading(0), inputs).plan, first);
}

}  // namespace
}  // namespace swath
