// Operations on a simulated machine: its bytes and requests are those of a real run, and it scales to many ranks.
#include "simulate/simulate.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "array/array.h"
#include "base/interrupt.h"
#include "comm/simulated.h"
#include "method/run.h"
#include "simulate/simulate_for_tests.h"
#include "store/engine_test_file.h"
#include "store/fault/fault.h"
#include "store/mapped_view.h"
#include "store/open_file.h"
#include "store/posix/engine.h"
#include "testing/ranks_and_memory.h"

namespace swath::simulate {
namespace {

using RequestsOfRanks = std::vector<std::vector<RecordedRequest>>;
using ByteVector = std::vector<std::byte>;

// The file's pages, with a record of what is asked of them.
class RecordingView final : public MappedView {
 public:
  RecordingView(std::shared_ptr<const OpenFile> file, std::vector<RecordedRequest>& requests)
      : MappedView(std::move(file)), requests_(requests) {}

 private:
  const std::byte* at(int64_t offset, int64_t bytes) override {
    requests_.push_back({Direction::kRead, offset, bytes});
    return MappedView::at(offset, bytes);
  }
  std::vector<RecordedRequest>& requests_;
};

// A real engine with the abilities of a machine's, which keeps what is asked of it.
class RecordingEngine final : public PosixEngine {
 public:
  RecordingEngine(std::shared_ptr<OpenFile> file, const Machine& machine, std::vector<RecordedRequest>& requests)
      : PosixEngine(std::move(file), int64_t{1} << 30), machine_(machine), requests_(requests) {}
  Capabilities capabilities() const override { return MachineEngine::capabilities_of(machine_); }
  std::optional<double> cached_part(int64_t, int64_t) const override {
    return machine_.page_cache.exists() ? std::optional(1.0) : std::nullopt;
  }
  std::unique_ptr<CachedView> cached_view() override {
    return capabilities().shows_cache ? std::make_unique<RecordingView>(file_, requests_) : nullptr;
  }
  bool read_cached(const Transfer&, Counters&) override { return false; }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override {
    record(direction, batch);
    PosixEngine::transfer(direction, batch, counters);
  }
  void start(Direction direction, std::span<const Transfer> batch) override {
    record(direction, batch);
    PosixEngine::start(direction, batch);
  }
  void transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) override {
    if (!structured.as_described) return Engine::transfer_structured(direction, structured, counters);
    RecordedRequest described{direction, -1, 0};
    for_each_flat_batch(structured, [&](std::span<const Transfer> batch) {
      if (described.offset < 0) described.offset = batch.front().offset;
      for (const Transfer& piece : batch) described.bytes += piece.bytes;
      PosixEngine::transfer(direction, batch, counters);
    });
    if (described.bytes > 0) requests_.push_back(described);
  }

 private:
  void record(Direction direction, std::span<const Transfer> batch) {
    FileRequest request;
    for (RequestCutter cutter(batch, int64_t{1} << 30); !cutter.exhausted();) {
      cutter.next(request);
      requests_.push_back({direction, request.offset, request.bytes});
    }
  }

  const Machine& machine_;
  std::vector<RecordedRequest>& requests_;
};

int64_t bytes_of(const OperationCase& given) { return element_count(given.shape) * given.element_bytes; }

// Each rank's memory, of bytes that differ.
std::vector<ByteVector> memory_of_ranks(const OperationCase& given, int ranks) {
  std::vector<ByteVector> memory;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t bytes = 0;
    for (const Part& part : given.access.decomposition.parts(rank, given.element_bytes)) {
      bytes += part.count() * given.element_bytes;
    }
    ByteVector& mine = memory.emplace_back(static_cast<size_t>(bytes));
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = static_cast<std::byte>(31 * i + size_t{7} * static_cast<size_t>(rank + 1));
  }
  return memory;
}

struct Outcome {
  RequestsOfRanks requests;
  ByteVector file;
  std::vector<ByteVector> memory;
};

Outcome run_really(const Machine& machine, const OperationCase& given, int ranks, const ByteVector& before) {
  const EngineTestFile stored;
  stored.write(before);
  Outcome outcome;
  outcome.requests.resize(static_cast<size_t>(ranks));
  outcome.memory = memory_of_ranks(given, ranks);
  const auto layout = std::make_shared<const Layout>(Layout::ordered(given.shape, given.element_bytes, 0, given.order));
  const auto profile = std::make_shared<const Profile>(profile_of(machine));
  swath::testing::expect_no_errors(swath::testing::on_all_ranks({ranks, machine.nodes}, [&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const auto open = std::make_shared<OpenFile>(stored.path(), OpenMode::kReadWrite, nullptr);
    const auto file = std::make_shared<File>(
        stored.path(), [&, open] { return std::make_unique<RecordingEngine>(open, machine, outcome.requests[rank]); });
    Array::Options options;
    options.form = std::make_shared<const ArrayForm>("data", given.shape, given.element_bytes, layout);
    options.learning = std::make_shared<Learning>(profile, true);
    Array array(std::shared_ptr<Comm>(&comm, [](Comm*) {}), file, options);
    array.execute({array.form(), given.access}, packed_memory(given.access.decomposition, comm.rank(),
                                                              given.element_bytes, outcome.memory[rank].data()));
  }));
  outcome.file = stored.contents();
  return outcome;
}

Outcome run_simulated(const Machine& machine, const OperationCase& given, int ranks, const ByteVector& before,
                      bool data) {
  World world(machine, {.ranks = ranks, .data = data});
  Outcome outcome;
  outcome.requests.resize(static_cast<size_t>(ranks));
  outcome.memory = memory_of_ranks(given, ranks);
  const auto file = std::make_shared<SimulatedFile>(world, "data", std::ssize(before));
  if (data) file->data() = before;
  file->record = &outcome.requests;
  run_operations(
      world, {given}, [&](const OperationCase&) { return std::shared_ptr<SimulatedFile>(file); },
      [&](int, int rank, LocalMemory& local) {
        if (!data) return;
        local = packed_memory(given.access.decomposition, rank, given.element_bytes,
                              outcome.memory[static_cast<size_t>(rank)].data());
      });
  outcome.file = file->data();
  return outcome;
}

std::string text_of(const OperationCase& given, const Machine& machine, int ranks) {
  return to_string(given.access.method) + (given.access.direction == Direction::kRead ? " read by " : " write by ") +
         std::to_string(ranks) + " ranks on " + std::to_string(machine.nodes) + " nodes, " +
         given.access.decomposition.to_string();
}

void expect_as_really(const Machine& machine, const OperationCase& given, int ranks) {
  SCOPED_TRACE(text_of(given, machine, ranks));
  const ByteVector before = counting_bytes(bytes_of(given));
  const Outcome real = run_really(machine, given, ranks, before);
  const Outcome simulated = run_simulated(machine, given, ranks, before, true);
  EXPECT_EQ(simulated.requests, real.requests);
  EXPECT_EQ(simulated.file, real.file);
  EXPECT_EQ(simulated.memory, real.memory);
  // Without memory for the data the requests are the same.
  EXPECT_EQ(run_simulated(machine, given, ranks, before, false).requests, real.requests);
}

TEST(Simulate, MakesTheRequestsOfARealRunAndMovesItsBytes) {
  int64_t runs = 0;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (int nodes = 1; nodes <= std::min(ranks, 2); ++nodes) {
      const Machine machine = small_machine(nodes, (ranks + nodes - 1) / nodes);
      for (const Method method : {Method::kAuto, Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase}) {
        for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
          for (const auto kind : {DimensionRule::Kind::kBlock, DimensionRule::Kind::kCyclic}) {
            const std::vector<int64_t> grid = ranks == 4 ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{1, ranks};
            OperationCase given = blocks_of({37, 41}, grid, ranks, direction, method, kind);
            given.access.tuning = {{"domain_bytes_min", 512}, {"sieve_bytes", 1024}, {"window_bytes", 1024}};
            expect_as_really(machine, given, ranks);
            ++runs;
          }
        }
      }
    }
  }
  EXPECT_EQ(runs, 7 * 5 * 2 * 2);
}

TEST(Simulate, WritesHolesUnderLocksAsARealRunDoes) {
  const Machine machine = small_machine(2, 2);
  for (const Method method : {Method::kSieve, Method::kTwoPhase}) {
    OperationCase given = blocks_of({24, 20}, {2, 2}, 4, Direction::kWrite, method);
    const Selection every_second{{0, 2, 12, false}, {1, 2, 10, false}};
    given.access.decomposition = Decomposition::distributed(
        Distribution({{DimensionRule::Kind::kBlock, 0}, {DimensionRule::Kind::kBlock, 0}}, {2, 2}), every_second, 4);
    given.access.tuning = {{"domain_bytes_min", 512}, {"sieve_bytes", 1024}, {"window_bytes", 1024}};
    expect_as_really(machine, given, 4);
  }
}

TEST(Simulate, UsesThePageCacheOfItsNodeAsARealRunDoes) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const Machine machine = cached_machine(ranks);
    for (const Method method : {Method::kAuto, Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase}) {
      for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
        OperationCase given = blocks_of({37, 41}, {1, ranks}, ranks, direction, method, DimensionRule::Kind::kCyclic);
        given.access.tuning = {
            {"domain_bytes_min", 512}, {"sieve_bytes", 1024}, {"window_bytes", 1024}, {"look_bytes_min", 512}};
        expect_as_really(machine, given, ranks);
      }
    }
  }
}

// Seconds of an access by each method, of one rank, whose machine has the file in memory.
double cached_seconds(const OperationCase& given, const Machine& machine) {
  World world(machine, {.ranks = 1});
  const auto file = std::make_shared<SimulatedFile>(world, "data", bytes_of(given));
  return run_operations(world, {given}, [&](const OperationCase&) { return std::shared_ptr<SimulatedFile>(file); })
      .seconds;
}

TEST(Simulate, RequestsOfThePageCacheCostCallsJumpsAndBytes) {
  Machine machine = cached_machine(1);
  machine.software.call_overhead = 0;
  // Every second row of a page each, as a list and as one request each.
  OperationCase given = blocks_of({64, 512}, {1, 1}, 1, Direction::kRead, Method::kList);
  given.access.decomposition = Decomposition::distributed(
      Distribution({{DimensionRule::Kind::kBlock, 0}, {DimensionRule::Kind::kBlock, 0}}, {1, 1}),
      {{0, 2, 32, false}, {0, 1, 512, false}}, 1);
  const double read = cached_seconds(given, machine);
  const double each =
      machine.page_cache.read_call + machine.page_cache.read_jump + 4096 / machine.page_cache.read_bandwidth;
  EXPECT_NEAR(read, 32 * each - machine.page_cache.read_jump, 0.01 * read);
  given.access.direction = Direction::kWrite;
  machine.page_cache.write_jump = 1e-3;
  EXPECT_GT(cached_seconds(given, machine), 31e-3);
  // Mapped pages have no calls.
  given.access.tuning = {{"look_bytes_min", 4096}};
  given.access.direction = Direction::kRead;
  given.access.method = Method::kSieve;
  EXPECT_NEAR(cached_seconds(given, machine), 32 * 4096 / machine.page_cache.map_bandwidth, 0.3 * read);
}

TEST(Simulate, WritesToPartsOfPagesThatAreNotCachedReadThem) {
  Machine machine = cached_machine(1);
  machine.page_cache.has_files = false;
  machine.servers.count = machine.stripe.count = 1;
  machine.stripe.unit = 1 << 20;
  OperationCase given = blocks_of({64, 1024}, {1, 1}, 1, Direction::kWrite, Method::kDirect);
  given.access.decomposition = Decomposition::distributed(
      Distribution({{DimensionRule::Kind::kBlock, 0}, {DimensionRule::Kind::kBlock, 0}}, {1, 1}),
      {{0, 1, 64, false}, {0, 1, 8, false}}, 1);
  const auto use = [&](const std::vector<OperationCase>& operations) {
    World world(machine, {.ranks = 1});
    const auto file = std::make_shared<SimulatedFile>(world, "data", bytes_of(given));
    run_operations(world, operations, [&](const OperationCase&) { return std::shared_ptr<SimulatedFile>(file); });
    return world.storage().uses()[0];
  };
  EXPECT_EQ(use({given}).read_bytes, 64 * 4096);
  EXPECT_EQ(use({given}).written_bytes, 0);
  // Then they are cached, and a sync writes them.
  OperationCase synced = given;
  synced.sync = true;
  EXPECT_EQ(use({given, synced}).read_bytes, 64 * 4096);
  EXPECT_EQ(use({given, synced}).written_bytes, 64 * 4096);
}

TEST(Simulate, OneRankAtATimeWritesToAFileInThePageCache) {
  const auto seconds = [](int ranks, Direction direction) {
    World world(cached_machine(ranks), {.ranks = ranks});
    const OperationCase given = blocks_of({ranks, 1 << 20}, {ranks, 1}, ranks, direction, Method::kDirect);
    const auto file = std::make_shared<SimulatedFile>(world, "data", bytes_of(given));
    return run_operations(world, {given}, [&](const OperationCase&) { return std::shared_ptr<SimulatedFile>(file); })
        .seconds;
  };
  EXPECT_NEAR(seconds(4, Direction::kRead) / seconds(1, Direction::kRead), 1, 0.05);
  EXPECT_NEAR(seconds(4, Direction::kWrite) / seconds(1, Direction::kWrite), 4, 0.1);
}

TEST(Simulate, SendsTheDescriptionsOfARealRun) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    Machine machine = small_machine(1, ranks);
    machine.servers.list = machine.servers.datatype = true;
    const std::vector<int64_t> grid = ranks == 4 ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{1, ranks};
    for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
      for (const auto kind : {DimensionRule::Kind::kBlock, DimensionRule::Kind::kCyclic}) {
        expect_as_really(machine, blocks_of({37, 41}, grid, ranks, direction, Method::kDatatype, kind), ranks);
      }
    }
  }
}

// ---- many ranks -----------------------------------------------------------------------------------------------------

Result run_many(int ranks, int ranks_per_node, Method method, double noise = 0, uint64_t seed = 1) {
  Machine machine = small_machine(ranks / ranks_per_node, ranks_per_node, 16);
  machine.stripe.unit = int64_t{1} << 20;
  World world(machine, {.ranks = ranks, .seed = seed, .noise = noise});
  const auto side = static_cast<int64_t>(std::bit_floor(static_cast<unsigned>(ranks)));
  const OperationCase given = blocks_of({64 * side, 8192}, {ranks / 16, 16}, ranks, Direction::kWrite, method);
  return run_operations(world, {given},
                        [&](const OperationCase&) { return std::make_shared<SimulatedFile>(world, "data", 0); });
}

TEST(Simulate, RepeatsExactlyAndNoiseFollowsItsSeed) {
  const double seconds = run_many(64, 8, Method::kTwoPhase).seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(run_many(64, 8, Method::kTwoPhase).seconds, seconds);
  const double noisy = run_many(64, 8, Method::kTwoPhase, 0.2, 1).seconds;
  EXPECT_EQ(run_many(64, 8, Method::kTwoPhase, 0.2, 1).seconds, noisy);
  EXPECT_NE(run_many(64, 8, Method::kTwoPhase, 0.2, 2).seconds, noisy);
  EXPECT_GT(noisy, seconds);
}

TEST(Simulate, RanksAgreeByMessagesThatGrowWithTheLogarithmOfTheNodes) {
  std::map<int, int64_t> most;
  for (const int ranks : {64, 512}) {
    const Result result = run_many(ranks, 4, Method::kTwoPhase);
    most[ranks] = result.operations.front().agreement_messages_max;
  }
  // Three reductions: the agreement before, the windows, and the agreement after.
  EXPECT_EQ(most[64], 3 * 4);
  EXPECT_EQ(most[512], 3 * 7);
}

TEST(Simulate, MemoryOfARankDoesNotGrowWithTheRanks) {
  const Result few = run_many(64, 4, Method::kTwoPhase);
  const Result many = run_many(512, 4, Method::kTwoPhase);
  EXPECT_LE(many.operations.front().buffer_bytes_max, few.operations.front().buffer_bytes_max + (1 << 20));
  EXPECT_LT(many.heap_bytes_per_rank, 128 << 10);
}

TEST(Simulate, EveryByteReachesTheServersOnce) {
  Machine machine = small_machine(4, 4, 5);
  World world(machine, {.ranks = 16});
  const OperationCase given = blocks_of({1024, 1024}, {4, 4}, 16, Direction::kWrite, Method::kDirect);
  run_operations(world, {given},
                 [&](const OperationCase&) { return std::make_shared<SimulatedFile>(world, "data", 0); });
  int64_t written = 0;
  for (const ServerUse& use : world.storage().uses()) {
    written += use.written_bytes;
    EXPECT_GT(use.busy_seconds, 0);
  }
  EXPECT_EQ(written, bytes_of(given));
  EXPECT_EQ(world.storage().disk_statistics().written_bytes, bytes_of(given));
}

// ---- files and page caches ------------------------------------------------------------------------------------------

TEST(Simulate, FilesThatServersCannotHoldAreRefused) {
  World world(small_machine(1, 1, 2), {.ranks = 1});
  const int64_t most = 2 * Storage::kFileBytesMax;
  EXPECT_NO_THROW(world.storage().check_size("data", most));
  EXPECT_THROW(world.storage().check_size("data", most + 1), Error);
  SimulatedFile file(world, "data", 0);
  EXPECT_THROW(file.resize(most + 1), Error);
  EXPECT_EQ(file.size(), 0);
  OperationCase longer = blocks_of({int64_t{1} << 45}, {1}, 1, Direction::kRead, Method::kDirect);
  const auto file_of = [&](const OperationCase&) { return std::make_shared<SimulatedFile>(world, "data", 0); };
  EXPECT_THROW(run_operations(world, {longer}, file_of), Error);
}

struct Cached {
  double seconds = 0;
  RequestsOfRanks requests;
  int64_t hit_bytes = 0;
  int64_t written_back_bytes = 0;
  DiskStatistics disks;
};

// Operations of four ranks on one file of two servers.
Cached run_cached(const std::vector<OperationCase>& operations, int64_t cache_bytes) {
  Machine machine = small_machine(2, 2);
  machine.servers.cache_bytes = cache_bytes;
  machine.servers.cache_bandwidth = 1e9;
  World world(machine, {.ranks = 4});
  Cached found;
  found.requests.resize(4);
  const auto file = std::make_shared<SimulatedFile>(world, "data", bytes_of(operations.front()));
  file->record = &found.requests;
  const auto file_of = [&](const OperationCase&) { return std::shared_ptr<SimulatedFile>(file); };
  found.seconds = run_operations(world, operations, file_of).seconds;
  for (const ServerUse& use : world.storage().uses()) {
    found.hit_bytes += use.cache_hit_bytes;
    found.written_back_bytes += use.written_back_bytes;
  }
  found.disks = world.storage().disk_statistics();
  return found;
}

OperationCase cached_case(Direction direction, Method method = Method::kList) {
  return blocks_of({256, 256}, {2, 2}, 4, direction, method);
}

TEST(Simulate, APageCacheChangesNoRequestAndRepeatsExactly) {
  for (const Method method : {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase}) {
    const std::vector<OperationCase> both{cached_case(Direction::kWrite, method),
                                          cached_case(Direction::kRead, method)};
    const Cached without = run_cached(both, 0);
    for (const int64_t cache_bytes : {int64_t{64} << 10, int64_t{4} << 20}) {
      const Cached with = run_cached(both, cache_bytes);
      EXPECT_EQ(with.requests, without.requests);
      EXPECT_EQ(run_cached(both, cache_bytes).seconds, with.seconds);
    }
    EXPECT_EQ(without.hit_bytes + without.written_back_bytes, 0);
  }
}

TEST(Simulate, APageCacheGivesWhatWasWritten) {
  const std::vector<OperationCase> both{cached_case(Direction::kWrite), cached_case(Direction::kRead)};
  const Cached found = run_cached(both, int64_t{4} << 20);
  EXPECT_EQ(found.hit_bytes, bytes_of(both.front()));
  EXPECT_EQ(found.disks.read_bytes, 0);
  EXPECT_LT(found.seconds, run_cached(both, 0).seconds);
}

TEST(Simulate, ASyncWaitsUntilTheDisksHaveWhatIsDirty) {
  OperationCase write = cached_case(Direction::kWrite);
  const Cached unsynced = run_cached({write}, int64_t{64} << 20);
  write.sync = true;
  const Cached synced = run_cached({write}, int64_t{64} << 20);
  EXPECT_EQ(unsynced.disks.written_bytes, 0);
  EXPECT_EQ(synced.disks.written_bytes, bytes_of(write));
  EXPECT_EQ(synced.written_back_bytes, bytes_of(write));
  EXPECT_GT(synced.seconds, unsynced.seconds + static_cast<double>(bytes_of(write)) / 2 / 100e6);
  EXPECT_EQ(synced.requests, unsynced.requests);
}

TEST(Simulate, WritesWaitForTheDisksWhereTooMuchIsDirty) {
  const OperationCase write = cached_case(Direction::kWrite);
  const Cached found = run_cached({write}, int64_t{32} << 10);
  EXPECT_GE(found.disks.written_bytes, bytes_of(write) - 2 * (int64_t{32} << 10));
  EXPECT_GT(found.seconds, static_cast<double>(bytes_of(write)) / 2 / 100e6 * 0.8);
}

TEST(Simulate, FilesHaveBlocksAndLocksOfTheirOwn) {
  Machine machine = small_machine(2, 1);
  machine.servers.cache_bytes = int64_t{4} << 20;
  machine.servers.cache_bandwidth = 1e9;
  World world(machine, {.ranks = 2});
  OperationCase mine = blocks_of({4096}, {1}, 1, Direction::kWrite, Method::kDirect);
  std::vector<OperationCase> operations;
  for (const int rank : {0, 1}) {
    mine.rank = rank;
    mine.file = "file " + std::to_string(rank);
    operations.push_back(mine);
  }
  mine.access.direction = Direction::kRead;
  mine.file = "file 2";
  operations.push_back(mine);
  run_operations(world, operations, [&](const OperationCase& one) {
    return std::make_shared<SimulatedFile>(world, one.file, bytes_of(one));
  });
  for (const ServerUse& use : world.storage().uses()) {
    EXPECT_EQ(use.lock_transfers, 0);
    EXPECT_EQ(use.cache_hit_bytes, 0);
  }
}

TEST(Simulate, AnInterruptEndsAllRanks) {
  World world(small_machine(4, 4), {.ranks = 16});
  OperationCase given = blocks_of({64, 64}, {4, 4}, 16, Direction::kWrite, Method::kTwoPhase);
  given.repeat = 20'000;  // longer than the time to the first question
  const InterruptScope scope([] { return true; });
  const auto file = std::make_shared<SimulatedFile>(world, "data", 0);
  try {
    run_operations(world, {given}, [&](const OperationCase&) { return std::shared_ptr<SimulatedFile>(file); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
  }
  EXPECT_EQ(file.use_count(), 1);
}

// ---- redistribution -------------------------------------------------------------------------------------------------

struct Redistributed {
  std::vector<std::vector<int64_t>> after;  // of each rank
  std::vector<int64_t> exchange_bytes;      // in messages
  double seconds = 0;
};

// Columns from rows of numbered elements, on a simulated machine.
Redistributed redistribute_on(const Machine& machine, int ranks, bool data) {
  const Shape shape{64, 48};
  const Distribution rows({{DimensionRule::Kind::kBlock, 0}, {}}, {ranks, 1});
  const Distribution columns({{}, {DimensionRule::Kind::kCyclic, 1}}, {1, ranks});
  const auto from = Decomposition::distributed(rows, select_all(shape), ranks);
  const auto to = Decomposition::distributed(columns, select_all(shape), ranks);
  const int64_t share = element_count(shape) / ranks;
  World world(machine, {.ranks = ranks, .data = data});
  Redistributed found;
  found.after.resize(static_cast<size_t>(ranks), std::vector<int64_t>(data ? static_cast<size_t>(share) : 0));
  world.run([&](int rank) {
    std::vector<int64_t> before;
    for (int64_t i = 0; data && i < share; ++i) before.push_back(rank * share + i);
    void* const own = data ? static_cast<void*>(before.data()) : world.placeholder(share * 8);
    void* const received =
        data ? static_cast<void*>(found.after[static_cast<size_t>(rank)].data()) : world.placeholder(share * 8);
    Progress progress;
    redistribute(8, {from, packed_memory(from, rank, 8, own)}, {to, packed_memory(to, rank, 8, received)},
                 *world.comm(rank), {}, progress);
    found.seconds = std::max(found.seconds, world.fibers().now());
  });
  for (int rank = 0; rank < ranks; ++rank) found.exchange_bytes.push_back(world.use(rank).exchange_bytes);
  return found;
}

TEST(Simulate, RedistributesByMessagesOfTheBytesThatLeaveANode) {
  for (const int nodes : {1, 2, 4}) {
    const int ranks = 4;
    SCOPED_TRACE(nodes);
    const Machine machine = small_machine(nodes, ranks / nodes);
    const Redistributed moved = redistribute_on(machine, ranks, true);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<int64_t> expected;
      for (int64_t i = 0; i < 64; ++i) {
        for (int64_t j = rank; j < 48; j += ranks) expected.push_back(i * 48 + j);
      }
      EXPECT_EQ(moved.after[static_cast<size_t>(rank)], expected);
      // A rank keeps a quarter of its rows, and shares the quarters of the ranks of its node through memory.
      EXPECT_EQ(moved.exchange_bytes[static_cast<size_t>(rank)], 64 * 48 * 8 / 16 * (ranks - ranks / nodes));
    }
    const Redistributed simulated = redistribute_on(machine, ranks, false);
    EXPECT_EQ(simulated.exchange_bytes, moved.exchange_bytes);
    EXPECT_EQ(simulated.seconds, moved.seconds);
    EXPECT_GT(simulated.seconds, 0);
  }
}

TEST(Simulate, MoreRanksThanPlacesAreRefused) { EXPECT_THROW(World(small_machine(2, 2), {.ranks = 5}), Error); }

}  // namespace
}  // namespace swath::simulate
