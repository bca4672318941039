// Readers and writers of chunks take turns like other streams of a target.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "chunks/chunks.h"
#include "store/engine_test_file.h"
#include "throttle/throttled_engine.h"

namespace swath {
namespace {

constexpr int64_t kChunks = 48;
constexpr int64_t kChunkElements = 4096;

// The number of requests that are at the disk at a time.
struct AtDisk {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
};

class CountedEngine final : public Engine {
 public:
  CountedEngine(std::unique_ptr<Engine> engine, AtDisk& at_disk) : engine_(std::move(engine)), at_disk_(at_disk) {}
  std::string name() const override { return engine_->name(); }
  const std::string& path() const override { return engine_->path(); }
  Capabilities capabilities() const override { return engine_->capabilities(); }
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override {
    const int now = ++at_disk_.now;
    for (int most = at_disk_.most; most < now && !at_disk_.most.compare_exchange_weak(most, now);) continue;
    engine_->transfer(direction, batch, counters);
    --at_disk_.now;
  }
  void start(Direction direction, std::span<const Transfer> batch) override { engine_->start(direction, batch); }
  void wait(Counters& counters) override { engine_->wait(counters); }
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) override { return engine_->lock(begin, end); }
  std::optional<double> cached_part(int64_t offset, int64_t bytes) const override {
    return engine_->cached_part(offset, bytes);
  }
  int64_t size() const override { return engine_->size(); }
  void resize(int64_t bytes) override { engine_->resize(bytes); }
  void sync() override { engine_->sync(); }

 private:
  const std::unique_ptr<Engine> engine_;
  AtDisk& at_disk_;
};

// Counts after the wait for a token: a stream that waits is not at the disk.
class CountedStream final : public Stream {
 public:
  CountedStream(const std::shared_ptr<Tokens>& tokens, const ThrottleOptions& options, AtDisk& at_disk)
      : in_turn_(tokens, options), at_disk_(at_disk) {}
  std::unique_ptr<Engine> carry(std::unique_ptr<Engine> engine) override {
    return in_turn_.carry(std::make_unique<CountedEngine>(std::move(engine), at_disk_));
  }

 private:
  ThrottledStream in_turn_;
  AtDisk& at_disk_;
};

enum class Stored { kFiles, kShards, kTable };

// The limit of the number of streams; 0: none.
class ThrottledChunks : public testing::TestWithParam<std::tuple<Stored, int>> {
 protected:
  ThrottledChunks() {
    array_.path = files_.folder();
    array_.shape = {kChunks * kChunkElements};
    array_.chunk_shape = {kChunkElements};
    array_.element_bytes = 4;
    array_.chunk_strides = {4};
    array_.codecs = CodecChain({Codec{.kind = CodecKind::kCrc32c}});
    array_.fill.assign(4, std::byte{0});
    if (stored() == Stored::kShards) {
      array_.places = Shards{ChunkFiles{"c/", "/", "c"}, {12 * kChunkElements}, CodecChain(std::vector<Codec>{}), true};
    } else {
      array_.places = ChunkFiles{"c/", "/", "c"};
    }
    std::iota(values_.begin(), values_.end(), 0);
  }

  static Stored stored() { return std::get<0>(GetParam()); }
  static int limit() { return std::get<1>(GetParam()); }

  ChunkOptions options(AtDisk& at_disk) const {
    ThrottleOptions turns;
    turns.reads = turns.writes = limit() == 0 ? std::nullopt : std::optional(StreamLimit::fixed(limit()));
    ChunkOptions made;
    // A disk of this test: each chunk takes 8 ms or more, so that the number of readers grows.
    made.engine.engine = "model:p690-scsi@" + files_.folder();
    made.make_stream = [this, turns, &at_disk] { return std::make_unique<CountedStream>(tokens_, turns, at_disk); };
    return made;
  }

  void write(const ChunkOptions& options) {
    const Decomposition decomposition = Decomposition::alone(select_all(array_.shape));
    const std::vector<Part> parts = decomposition.parts(0, 4);
    const std::vector<std::byte*> addresses{reinterpret_cast<std::byte*>(values_.data())};
    write_chunks(array_, {parts, addresses}, touched_units(array_, decomposition, 0).own, options);
  }

  Counters read(const ChunkOptions& options) {
    const std::vector<Part> parts = Decomposition::alone(select_all(array_.shape)).parts(0, 4);
    std::vector<uint32_t> found(values_.size());
    const std::vector<std::byte*> addresses{reinterpret_cast<std::byte*>(found.data())};
    const Counters counters = read_chunks(array_, {parts, addresses}, options);
    EXPECT_EQ(found, values_);
    return counters;
  }

  // Moves the chunks from one file each to one file.
  void gather_in_one_file() {
    Bytes all;
    ChunkTable table;
    for (int64_t chunk = 0; chunk < kChunks; ++chunk) {
      std::ifstream file(files_.folder() + "/c/" + std::to_string(chunk), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      table.offsets.push_back(std::ssize(all));
      table.bytes.push_back(std::ssize(bytes));
      table.skipped.push_back(0);
      for (const char byte : bytes) all.push_back(static_cast<std::byte>(byte));
    }
    files_.write(all);
    array_.path = files_.path();
    array_.places = std::move(table);
  }

  EngineTestFile files_;
  CodedArray array_;
  std::vector<uint32_t> values_ = std::vector<uint32_t>(static_cast<size_t>(kChunks * kChunkElements));
  std::shared_ptr<NodeTokens> tokens_ = NodeTokens::open("chunks-" + std::to_string(::getpid()), files_.path());
};

INSTANTIATE_TEST_SUITE_P(, ThrottledChunks,
                         testing::Combine(testing::Values(Stored::kFiles, Stored::kShards, Stored::kTable),
                                          testing::Values(0, 1, 2)));

TEST_P(ThrottledChunks, NoMoreAreAtTheDiskThanItServes) {
  AtDisk writers;
  write(options(writers));
  if (stored() == Stored::kTable) gather_in_one_file();
  AtDisk readers;
  const Counters counters = read(options(readers));
  EXPECT_GE(counters.read_requests, kChunks);
  if (limit() == 0) {
    EXPECT_GT(readers.most, 2) << "else the limits below are none";
    EXPECT_EQ(counters.token_waits, 0);
  } else {
    EXPECT_EQ(readers.most, limit());
    EXPECT_LE(writers.most, limit());
    if (limit() == 1) EXPECT_GT(counters.token_waits, 0);  // with two tokens, late workers may not have to wait
  }
  EXPECT_EQ(tokens_->streams(), 0) << "workers leave";
}

}  // namespace
}  // namespace swath
