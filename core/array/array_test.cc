// Open arrays by simulated ranks: what moves is what the plain list says, agreed on in few messages.
#include "array/array.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "array/raw_array.h"
#include "comm/simulated.h"
#include "store/engine_test_file.h"
#include "store/fault.h"
#include "store/open_file.h"
#include "store/posix.h"
#include "testing/ranks_and_memory.h"
#include "testing/requests.h"

namespace swath {
namespace {

using namespace swath::testing;
using ByteVector = std::vector<std::byte>;
using Kind = DimensionRule::Kind;

// Tells of the page cache what the test says; a negative part: nothing; more than all: that fails.
class TellingEngine final : public PosixEngine {
 public:
  TellingEngine(std::shared_ptr<OpenFile> file, const std::atomic<double>& cached)
      : PosixEngine(std::move(file), int64_t{1} << 30), cached_(cached) {}
  std::optional<double> cached_part(int64_t, int64_t) const override {
    if (cached_ > 1) throw Error(ErrorKind::kStore, "cannot tell what is cached");
    return cached_ < 0 ? std::nullopt : std::optional(cached_.load());
  }

 private:
  const std::atomic<double>& cached_;
};

std::shared_ptr<File> open_by(const std::string& engine, const std::string& path) {
  return std::make_shared<File>(
      path, [make = open_for_engines(path, OpenMode::kReadWrite, {.engine = engine})] { return make(nullptr); });
}

std::shared_ptr<File> open_telling(const std::string& path, const std::atomic<double>& cached) {
  const auto file = std::make_shared<OpenFile>(path, OpenMode::kReadWrite, nullptr);
  return std::make_shared<File>(path, [file, &cached] { return std::make_unique<TellingEngine>(file, cached); });
}

// A comm that a test has, for an array that shares it.
std::shared_ptr<Comm> shared(Comm& comm) {
  return {&comm, [](Comm*) {}};
}

Array::Options options_of(const std::shared_ptr<const Layout>& layout, std::vector<std::byte> fill = {}) {
  Array::Options options;
  options.name = "a.raw";
  options.form = std::make_shared<const ArrayForm>("a.raw", layout->shape(), layout->element_bytes(), layout);
  options.fill = std::move(fill);
  return options;
}

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

// Writes random values by a random method, then reads them three times by another, as random ranks.
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

// SWATH_RANDOM_OPERATIONS asks for more.
TEST(Array, RandomOperationsMoveEveryElementToItsPlaceAndNothingElse) {
  Random random(2026);
  const int64_t wanted = operations_wanted();
  for (int64_t i = 0; i < wanted && !HasFailure(); i += 4) execute_randomly(random);
}

// ---- a vector, dealt out in turn
// -------------------------------------------------------------------------------------

constexpr int64_t kElements = 37;  // ragged for 2, 3, 4 and 5 ranks

std::shared_ptr<const Layout> vector_layout() {
  return std::make_shared<const Layout>(Layout::ordered({kElements}, 4, 0, {0}));
}

Decomposition dealt_out(int ranks, int64_t elements = kElements) {
  return Decomposition::distributed(Distribution({{Kind::kCyclic, 1}}, {ranks}), {{0, 1, elements, false}}, ranks);
}

// One rank's memory of a vector that is dealt out.
struct Share {
  Share(const Operation& operation, int rank)
      : parts(operation.decomposition().parts(rank, 4)),
        bytes(static_cast<size_t>(parts.empty() ? 0 : parts[0].count() * 4)) {}
  LocalMemory local() {
    LocalMemory memory{parts, {}};
    for (size_t part = 0; part < parts.size(); ++part) memory.addresses.push_back(bytes.data());
    return memory;
  }

  std::vector<Part> parts;
  ByteVector bytes;
};

// The elements of a rank that has every `ranks`-th one.
ByteVector every(const ByteVector& bytes, int rank, int ranks) {
  ByteVector mine;
  for (size_t element = static_cast<size_t>(rank); element * 4 < bytes.size(); element += static_cast<size_t>(ranks)) {
    mine.insert(mine.end(), bytes.begin() + static_cast<int64_t>(element * 4),
                bytes.begin() + static_cast<int64_t>(element * 4 + 4));
  }
  return mine;
}

class VectorTest : public ::testing::Test {
 protected:
  VectorTest() { file_.write(bytes_); }

  Operation reading(const Array& array, int ranks, Method method = Method::kDirect) const {
    return {array.form(), {Direction::kRead, dealt_out(ranks), method, {}}};
  }
  Operation writing(const Array& array, int ranks, Method method = Method::kDirect) const {
    return {array.form(), {Direction::kWrite, dealt_out(ranks), method, {}}};
  }

  const EngineTestFile file_;
  const ByteVector bytes_ = counting_bytes(kElements * 4);
  std::atomic<double> cached_ = 1;
};

using ArrayOfRanks = VectorTest;

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

// However many nodes: one reduction a read, whose messages grow with their logarithm and whose size does not.
TEST_F(ArrayOfRanks, AgreeByOneReductionOfConstantSize) {
  for (const int nodes : {2, 3, 4, 8, 16, 33, 64}) {
    Simulation simulation(nodes, nodes, 1);
    std::atomic<int64_t> counted = -1;
    run_ranks(simulation, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = reading(array, nodes);
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});  // the first is agreed on before, and after
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

// What one rank should not have written cannot be taken back: they agree before it, and after.
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
    // One rank alone has others: all hear of them.
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
          // What is learned on a busy machine is another profile, and that another plan.
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
            // What was planned once is not planned again; where no ranks meet it is read before they agree.
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

// ---- errors
// ----------------------------------------------------------------------------------------------------------

TEST_F(ArrayOfRanks, HearOfOneThatAsksForAnotherThing) {
  for (int culprit = 0; culprit < 3; ++culprit) {
    const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = comm.rank() == culprit ? writing(array, 3) : writing(array, 3, Method::kList);
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});
    });
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), ErrorKind::kDisagreement);
      EXPECT_NE(std::string(error.what()).find("They differ in method."), std::string::npos) << error.what();
      EXPECT_STREQ(error.what(), errors[0].what());
    }
    EXPECT_EQ(file_.contents(), bytes_);
  }
}

TEST_F(ArrayOfRanks, HearOfOneThatCannot) {
  const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation operation = writing(array, 3);
    if (comm.rank() == 1) array.refuse(&operation, Error(ErrorKind::kArgument, "values of another shape"));
    Share mine(operation, comm.rank());
    array.execute(operation, mine.local(), {});
  });
  for (const Error& error : errors) EXPECT_STREQ(error.what(), "rank 1: values of another shape");
  EXPECT_EQ(file_.contents(), bytes_);
}

TEST_F(ArrayOfRanks, HearOfOneWhoseReadFailsBeforeTheyAgree) {
  for (int culprit = 0; culprit < 3; ++culprit) {
    const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
      const bool breaks = comm.rank() == culprit;
      Array array(shared(comm), open_by(breaks ? "fault:read@2=EIO" : "posix", file_.path()),
                  options_of(vector_layout()));
      const Operation operation(array.form(), {Direction::kRead, dealt_out(3), Method::kSieve, {}});
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});
      for (int turn = 0; turn < 3; ++turn) array.execute(operation, mine.local(), {});
    });
    for (const Error& error : errors) {
      EXPECT_EQ(error.kind(), ErrorKind::kStore);
      EXPECT_TRUE(std::string(error.what()).starts_with("rank " + std::to_string(culprit) + ": read ")) << error.what();
    }
  }
}

TEST_F(ArrayOfRanks, HearOfOneThatCannotEvenBegin) {
  for (const Method method : {Method::kDirect, Method::kTwoPhase}) {
    cached_ = 2;
    const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
      Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
      const Operation operation = reading(array, 3, method);
      Share mine(operation, comm.rank());
      array.execute(operation, mine.local(), {});
    });
    for (const Error& error : errors) EXPECT_STREQ(error.what(), "rank 0: cannot tell what is cached");
  }
}

TEST_F(ArrayOfRanks, HearOfBoxesThatOverlap) {
  const auto errors = on_all_ranks({.ranks = 2}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const int64_t begin = int64_t{5} * comm.rank();
    auto own = Decomposition::own_boxes({{{begin}, {begin + 6}}}, comm.rank(), 2, {kElements});
    const Operation operation(array.form(), {Direction::kWrite, own, Method::kDirect, {}});
    Share mine(operation, comm.rank());
    array.execute(operation, mine.local(), {});
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
    EXPECT_NE(std::string(error.what()).find("share elements"), std::string::npos) << error.what();
  }
  EXPECT_EQ(file_.contents(), bytes_);
}

TEST_F(ArrayOfRanks, FindAClosedArrayClosed) {
  const auto errors = on_all_ranks({.ranks = 2}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    EXPECT_TRUE(array.shut());
    EXPECT_FALSE(array.shut());
    const Operation operation = reading(array, 2);
    Share mine(operation, comm.rank());
    array.execute(operation, mine.local(), {});
  });
  for (const Error& error : errors) {
    EXPECT_STREQ(error.what(), "rank 0: read a.raw: the array is closed; open the file again");
  }
}

// ---- beside the program
// ----------------------------------------------------------------------------------------------

TEST_F(ArrayOfRanks, FinishWhatTheyStarted) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    file_.write(bytes_);
    run_ranks(
        3,
        [&](Comm& comm) {
          Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
          const Operation read = reading(array, 3, Method::kTwoPhase);
          Share first(read, comm.rank());
          Share second(read, comm.rank());
          Future future = array.start(read, first.local(), {});
          array.execute(read, second.local(), {});
          EXPECT_EQ(future.wait().method, "two-phase");
          EXPECT_EQ(first.bytes, every(bytes_, comm.rank(), 3));
          EXPECT_EQ(second.bytes, first.bytes);
          // A write waits for the read that was started before it, and a read for the write.
          for (std::byte& byte : second.bytes) byte ^= std::byte{1};
          Future before = array.start(read, first.local(), {});
          Future write = array.start(writing(array, 3, Method::kTwoPhase), second.local(), {});
          Share third(read, comm.rank());
          array.execute(read, third.local(), {});
          before.wait();
          write.wait();
          EXPECT_EQ(first.bytes, every(bytes_, comm.rank(), 3));
          EXPECT_EQ(third.bytes, second.bytes);
        },
        seed);
  }
}

TEST_F(ArrayOfRanks, AreToldWhatWentWrongBesideTheProgram) {
  const auto errors = on_all_ranks({.ranks = 2}, [&](Comm& comm) {
    Array array(shared(comm), open_by(comm.rank() == 1 ? "fault:read@0=EIO" : "posix", file_.path()),
                options_of(vector_layout()));
    const Operation operation = reading(array, 2, Method::kSieve);
    Share mine(operation, comm.rank());
    Future future = array.start(operation, mine.local(), {});
    future.wait();
  });
  for (const Error& error : errors) EXPECT_TRUE(std::string(error.what()).starts_with("rank 1: read ")) << error.what();
}

// A thread carries it out meanwhile: it needs nobody who waits for it.
TEST_F(ArrayOfRanks, OfOneReadBesideTheProgram) {
  Array array(make_solo_comm(), open_telling(file_.path(), cached_), options_of(vector_layout()));
  const Operation operation = reading(array, 1);
  Share mine(operation, 0);
  Progress progress;
  Array::Companions companions;
  companions.progress = &progress;
  Future future = array.start(operation, mine.local(), companions);
  while (progress.bytes_done < std::ssize(bytes_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  future.wait();
  EXPECT_EQ(mine.bytes, bytes_);
}

TEST_F(ArrayOfRanks, TakeOperationsBackThatHaveNotBegun) {
  Array array(make_solo_comm(), open_telling(file_.path(), cached_), options_of(vector_layout()));
  const Operation read = reading(array, 1);
  Share mine(read, 0);
  std::vector<Future> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(array.start(read, mine.local(), {}));
  for (auto future = futures.rbegin(); future != futures.rend(); ++future) {
    future->let_go();
    EXPECT_TRUE(future->is_done());
  }
  array.execute(writing(array, 1), mine.local());  // nobody is in its way
  array.finish_started();
  EXPECT_TRUE(array.shut());
}

TEST_F(ArrayOfRanks, AreAllRefusedWhatOneOfThemCannotBeside) {
  const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation operation = reading(array, 3);
    Share mine(operation, comm.rank());
    Future future = comm.rank() == 1
                        ? array.start_refused(&operation, Error(ErrorKind::kArgument, "memory of another shape"))
                        : array.start(operation, mine.local(), {});
    future.wait();
  });
  for (const Error& error : errors) EXPECT_STREQ(error.what(), "rank 1: memory of another shape");
}

TEST_F(ArrayOfRanks, CarryOutThemselvesWhatTheyWaitForWhereNothingIsUnderWay) {
  run_ranks(3, [&](Comm& comm) {
    Array array(shared(comm), open_telling(file_.path(), cached_), options_of(vector_layout()));
    const Operation read = reading(array, 3, Method::kTwoPhase);
    Share mine(read, comm.rank());
    Array::Companions companions;
    companions.loop = array.begin_loop();
    companions.is_waited_for = true;
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(array.start(read, mine.local(), companions).is_done());
      EXPECT_EQ(mine.bytes, every(bytes_, comm.rank(), 3));
    }
    const auto numbers = std::make_shared<RankNumbers>();
    numbers->largest[2] = comm.rank();
    array.start_comparing(companions.loop, "compare", numbers, true);
    EXPECT_EQ(numbers->largest[2], 2);
    if (comm.rank() == 1) return array.leave_loop(companions.loop, "has left");
    try {
      array.start(read, mine.local(), companions).wait();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kLeft);
      EXPECT_STREQ(error.what(), "rank 1: has left");
    }
  });
}

// ---- new arrays, and bytes
// -------------------------------------------------------------------------------------------

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

TEST(RawArrays, AreMadeAndOpenedByAllRanksTogether) {
  const EngineTestFile folder;
  const RawArray raw{.path = folder.path(), .shape = {6, 4}, .element_bytes = 2, .offset = 3, .order = {1, 0}};
  run_ranks(3, [&](Comm& comm) {
    const auto made = create_raw(shared(comm), {.array = raw, .fill = counting_bytes(2, 9)});
    const int64_t row_of_rank = int64_t{2} * comm.rank();
    const Decomposition first =
        Decomposition::own_boxes({{{row_of_rank, 0}, {row_of_rank + 1, 4}}}, comm.rank(), 3, raw.shape);
    ByteVector values = counting_bytes(8, 1 + 8 * comm.rank());
    made->execute({made->form(), {Direction::kWrite, first}}, packed_memory(first, comm.rank(), 2, values.data()));
    EXPECT_FALSE(std::filesystem::exists(raw.path));
    made->close();
    made->close();
    comm.barrier();
    const auto array = open_raw(shared(comm), raw, OpenMode::kRead);
    const Decomposition all = Decomposition::alone(select_all(raw.shape));
    ByteVector read(48);
    array->execute({array->form(), {Direction::kRead, all}}, packed_memory(all, 0, 2, read.data()));
    ByteVector expected;
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 4; ++column) {
        const ByteVector element = row % 2 == 0 ? counting_bytes(2, 1 + 4 * row + 2 * column) : counting_bytes(2, 9);
        expected.insert(expected.end(), element.begin(), element.end());
      }
    }
    EXPECT_EQ(read, expected);
    array->close();
  });
  EXPECT_EQ(folder.contents().size(), 3U + 48U);
}

TEST(RawArrays, ThatCannotBeAreTheSameErrorOnAllRanks) {
  const EngineTestFile folder;
  folder.write(ByteVector(20));
  const auto errors_of = [&](const std::function<void(Comm&)>& body) {
    const auto errors = on_all_ranks({.ranks = 3}, body);
    for (const Error& error : errors) EXPECT_STREQ(error.what(), errors[0].what());
    return std::string(errors[0].what());
  };
  const auto opened = [&](Comm& comm, RawArray raw) {
    raw.path = folder.path();
    open_raw(shared(comm), raw, OpenMode::kRead);
  };
  EXPECT_NE(errors_of([&](Comm& comm) { opened(comm, {.shape = {21}}); }).find("ends at byte 21"), std::string::npos);
  EXPECT_NE(errors_of([&](Comm& comm) { opened(comm, {.shape = {4 + comm.rank()}}); }).find("They differ in shape."),
            std::string::npos);
  EXPECT_NE(errors_of([&](Comm& comm) { opened(comm, {.shape = {4}, .order = {1}}); }).find("order"),
            std::string::npos);
  EXPECT_NE(errors_of([&](Comm& comm) {
              create_raw(shared(comm), {.array = {.path = folder.path(), .shape = {4}}});
            }).find("exists"),
            std::string::npos);
  EXPECT_EQ(folder.contents(), ByteVector(20));
}

TEST(RawArrays, ThatAreNeverClosedLeaveTheOldFile) {
  const EngineTestFile folder;
  folder.write(ByteVector(20));
  run_ranks(2, [&](Comm& comm) {
    create_raw(shared(comm), {.array = {.path = folder.path(), .shape = {4}}, .overwrite = true});
  });
  EXPECT_EQ(folder.contents(), ByteVector(20));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.folder()), {}), 1);
}

TEST(RawArrays, ThatCannotGetTheirNameAreAnErrorOnAllRanks) {
  const EngineTestFile folder;
  const auto errors = on_all_ranks({.ranks = 3}, [&](Comm& comm) {
    const auto array = create_raw(shared(comm), {.array = {.path = folder.path(), .shape = {4}}});
    comm.barrier();
    if (comm.rank() == 0) {
      for (const auto& entry : std::filesystem::directory_iterator(folder.folder())) std::filesystem::remove(entry);
    }
    array->close();
  });
  for (const Error& error : errors) {
    EXPECT_EQ(error.kind(), ErrorKind::kStore);
    EXPECT_STREQ(error.what(), errors[0].what());
  }
}

// What a failed write leaves is old or new: the old of a new array is its fill value.
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

// Whatever another thread was at when the process was forked: the child waits for no lock of it.
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

// ---- plans that are kept
// ---------------------------------------------------------------------------------------------

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
  cold.conditions.cached_steps = 0;
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
