#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "calibrate/at_once.h"
#include "calibrate/codecs.h"
#include "calibrate/copies.h"
#include "calibrate/meetings.h"
#include "calibrate/requests.h"
#include "calibrate/small_reads.h"
#include "store/engine_test_file.h"

namespace swath {
namespace {

constexpr double kNoLimit = 60;

// Records its requests, and moves nothing.
class RecordingEngine : public Engine {
 public:
  std::string name() const override { return "recording"; }
  const std::string& path() const override { return path_; }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters&) override {
    directions.push_back(direction);
    batches.emplace_back(batch.begin(), batch.end());
  }
  void start(Direction, std::span<const Transfer>) override {}
  void wait(Counters&) override {}
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) override {
    locked.emplace_back(begin, end);
    return nullptr;
  }
  int64_t size() const override { return 0; }
  void resize(int64_t) override {}
  void sync() override { batches_before_sync = batches.size(); }

  std::vector<Direction> directions;
  std::vector<std::vector<Transfer>> batches;
  std::vector<std::pair<int64_t, int64_t>> locked;
  size_t batches_before_sync = 0;

 private:
  std::string path_;
};

std::vector<int64_t> offsets_of(const RecordingEngine& engine) {
  std::vector<int64_t> offsets;
  for (const auto& batch : engine.batches) {
    for (const auto& transfer : batch) offsets.push_back(transfer.offset);
  }
  return offsets;
}

TEST(TimeRequests, AsksForEveryRequestOfThePatternInBatchesOverTheSameMemory) {
  RecordingEngine engine;
  const auto timed = time_requests(engine, {.bytes = 8, .first = 100, .stride = 40, .count = 5, .batch = 2}, kNoLimit);
  EXPECT_EQ(timed.requests, 5);
  EXPECT_GT(timed.seconds, 0);
  EXPECT_EQ(offsets_of(engine), (std::vector<int64_t>{100, 140, 180, 220, 260}));
  ASSERT_EQ(engine.batches.size(), 3);
  EXPECT_EQ(engine.batches[0][0].data, engine.batches[1][0].data);
  EXPECT_EQ(engine.batches[0][1].data, engine.batches[0][0].data + 8);
  EXPECT_EQ(engine.batches_before_sync, 0) << "not asked for a sync";
}

TEST(TimeRequests, ShuffledRequestsAreThoseOfThePatternInAnotherOrderAlwaysTheSame) {
  const RequestPattern pattern{.bytes = 16, .stride = 64, .count = 100, .shuffled = true};
  RecordingEngine first, second;
  time_requests(first, pattern, kNoLimit);
  time_requests(second, pattern, kNoLimit);
  auto offsets = offsets_of(first);
  EXPECT_EQ(offsets, offsets_of(second));
  EXPECT_FALSE(std::is_sorted(offsets.begin(), offsets.end()));
  std::sort(offsets.begin(), offsets.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(offsets[static_cast<size_t>(i)], 64 * i);
}

TEST(TimeRequests, StopWhenTheirTimeIsUpAndSyncAfterTheLastOne) {
  RecordingEngine engine;
  const auto timed = time_requests(
      engine, {.direction = Direction::kWrite, .bytes = 4096, .stride = 4096, .count = 1000, .sync = true}, 0);
  EXPECT_EQ(timed.requests, 1);
  EXPECT_EQ(engine.directions, std::vector{Direction::kWrite});
  EXPECT_EQ(engine.batches_before_sync, 1);
}

TEST(TimeRequests, RefuseAPatternThatMovesNothing) {
  RecordingEngine engine;
  for (const RequestPattern pattern :
       {RequestPattern{.bytes = 0, .stride = 8, .count = 1}, RequestPattern{.bytes = 8, .stride = 0, .count = 1},
        RequestPattern{.bytes = 8, .first = -1, .stride = 8, .count = 1},
        RequestPattern{.bytes = 8, .stride = 8, .count = 0},
        RequestPattern{.bytes = 8, .stride = 8, .count = 1, .batch = 0}}) {
    EXPECT_EQ(error_of([&] { time_requests(engine, pattern, 1); }).kind(), ErrorKind::kArgument);
  }
  EXPECT_TRUE(engine.batches.empty());
}

TEST(TimeStreams, EveryStreamWritesItsOwnPartOfTheFile) {
  const EngineTestFile file;
  file.write(Bytes(size_t{4} * 4096));
  const auto timed = time_streams(
      file.path(), {.direction = Direction::kWrite, .bytes = 1024, .stride = 1024, .count = 3}, 4, 4096, kNoLimit);
  EXPECT_EQ(timed.requests, 12);
  const Bytes contents = file.contents();
  for (size_t stream = 0; stream < 4; ++stream) {
    const auto begin = contents.begin() + static_cast<std::ptrdiff_t>(stream * 4096);
    EXPECT_GT(3072 - std::count(begin, begin + 3072, std::byte{0}), 2900) << "noise was written";
    EXPECT_EQ(std::count(begin + 3072, begin + 4096, std::byte{0}), 1024) << "and nothing beyond it";
  }
}

TEST(TimeStreams, AMissingFileIsTheErrorOfAllStreams) {
  const EngineTestFile file;
  const Error error =
      error_of([&] { time_streams(file.folder() + "/none", {.bytes = 8, .stride = 8, .count = 1}, 3, 8, kNoLimit); });
  EXPECT_EQ(error.kind(), ErrorKind::kStore);
  EXPECT_EQ(error.os_error(), ENOENT);
}

TEST(TimeLocks, TakeWindowsOfTheFile) {
  RecordingEngine engine;
  EXPECT_GT(time_locks(engine, 512, 3), 0);
  EXPECT_EQ(engine.locked, (std::vector<std::pair<int64_t, int64_t>>{{0, 512}, {512, 1024}, {1024, 1536}}));
  EXPECT_EQ(error_of([&] { time_locks(engine, 0, 3); }).kind(), ErrorKind::kArgument);
}

TEST(RunAtOnce, NoThreadBeginsBeforeAllAreReadyAndOneThatFailsHoldsUpNobody) {
  std::atomic<int> ready = 0, began_too_early = 0;
  run_at_once(3, [&](int, const std::function<void()>& begin) {
    ++ready;
    begin();
    if (ready != 3) ++began_too_early;
  });
  EXPECT_EQ(began_too_early, 0);
  EXPECT_EQ(error_of([&] {
              run_at_once(3, [&](int thread, const std::function<void()>& begin) {
                if (thread == 1) fail_argument("thread 1");
                begin();
              });
            }).kind(),
            ErrorKind::kArgument);
}

// On any machine, more than 100 GB/s or less than 1 MB/s is no copy.
bool is_a_copy(double seconds_a_byte) { return seconds_a_byte > 1e-11 && seconds_a_byte < 1e-6; }

TEST(TimeCopies, EveryKindTakesTheTimeOfACopy) {
  for (const bool gather : {true, false}) {
    for (const bool exchange : {true, false}) {
      for (const int64_t block : {1, 8, 4096}) {
        const CopyPattern pattern{.gather = gather,
                                  .exchange = exchange,
                                  .block_bytes = block,
                                  .window_bytes = 64 << 10,
                                  .memory_bytes = 1 << 20};
        const auto samples = time_copies(pattern, 0);
        ASSERT_EQ(samples.size(), 1);
        EXPECT_TRUE(is_a_copy(samples[0])) << gather << exchange << " block " << block << ": " << samples[0];
      }
    }
  }
  EXPECT_TRUE(is_a_copy(time_copies_at_once({.window_bytes = 64 << 10, .memory_bytes = 1 << 20}, 3, 0)));
}

TEST(TimeCopies, RefuseBlocksThatDoNotDivideTheWindow) {
  EXPECT_EQ(error_of([] { time_copies({.block_bytes = 24, .window_bytes = 4096}, 1); }).kind(), ErrorKind::kArgument);
  EXPECT_EQ(error_of([] { time_copies({.memory_bytes = 1000}, 1); }).kind(), ErrorKind::kArgument);
}

TEST(TimeBarriers, AnyNumberOfRanksMeets) {
  for (const int ranks : {1, 2, 5}) {
    EXPECT_EQ(time_rounds(ranks, 0).size(), 1);
    const auto samples = time_barriers(ranks, 0);
    ASSERT_EQ(samples.size(), 1);
    EXPECT_GT(samples[0], 0);
    EXPECT_LT(samples[0], 0.1);
  }
}

TEST(TimeVisits, GiveSecondsOfAWindow) {
  const auto samples = time_visits(0);
  ASSERT_EQ(samples.size(), 1);
  EXPECT_GT(samples[0], 1e-9);
  EXPECT_LT(samples[0], 1e-3);
}

TEST(TimeCoding, GivesSecondsOfEachChunkAndWhatTheCodecsMakeOfAllOfThem) {
  const std::vector<std::byte> elements(10'000, std::byte{7});
  const CodingTimes plain = time_coding(CodecChain(), elements, 3'000, kNoLimit);
  EXPECT_EQ(plain.encode.size(), 3);
  EXPECT_EQ(plain.decode.size(), 3);
  EXPECT_EQ(plain.decoded_bytes, 9'000);
  EXPECT_EQ(plain.stored_bytes, 9'000);
  const CodingTimes coded = time_coding(CodecChain({{.kind = CodecKind::kFletcher32}}), elements, 3'000, kNoLimit);
  EXPECT_EQ(coded.stored_bytes, 9'000 + 3 * 4);
  for (const double seconds : coded.encode) EXPECT_GT(seconds, 0);
  // without time, only the first chunk is measured
  EXPECT_EQ(time_coding(CodecChain(), elements, 3'000, -1).encode.size(), 1);
}

TEST(TimeCoding, RefusesElementsThatFillNoChunk) {
  const std::vector<std::byte> elements(10);
  for (const int64_t bytes : {0, 11}) {
    EXPECT_EQ(error_of([&] { time_coding(CodecChain(), elements, bytes, 1); }).kind(), ErrorKind::kArgument);
  }
}

TEST(TimeSmallReads, GivesSecondsOfEachRepetitionAndRefusesAFileThatIsTooSmall) {
  const EngineTestFile file;
  file.write(counting_bytes(10'000));
  const SmallReads seconds = time_small_reads(file.path(), 4096, 3, 2);
  for (const auto* samples : {&seconds.pread, &seconds.core}) {
    ASSERT_EQ(samples->size(), 2);
    for (const double sample : *samples) EXPECT_GT(sample, 0);
  }
  for (const int64_t bytes : {0, 10'001}) {
    EXPECT_EQ(error_of([&] { time_small_reads(file.path(), bytes, 1, 1); }).kind(), ErrorKind::kArgument);
  }
}

}  // namespace
}  // namespace swath
