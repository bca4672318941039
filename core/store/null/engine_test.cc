#include "store/engine_test_file.h"

namespace swath {
namespace {

TEST(NullEngine, ReadsGiveZerosWritesVanishAndNoFileIsMade) {
  EngineTestFile file;
  auto engine = open_engine(file.path(), OpenMode::kCreateNew, {.engine = "null"});
  Bytes bytes = counting_bytes(100);
  const Transfer batch[] = {transfer_of(1000, bytes)};
  Counters counters;
  engine->transfer(Direction::kWrite, batch, counters);
  EXPECT_EQ(engine->size(), 1100);
  EXPECT_EQ(bytes, counting_bytes(100));
  engine->transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(bytes, Bytes(100));
  engine->resize(50);
  EXPECT_EQ(engine->size(), 50);
  engine->lock(0, 10);
  engine->sync();
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(NullEngine, AnExistingFileGivesItsSizeAndKeepsItsBytes) {
  EngineTestFile file;
  file.write(counting_bytes(77));
  auto engine = open_engine(file.path(), OpenMode::kReadWrite, {.engine = "null"});
  EXPECT_EQ(engine->size(), 77);
  Bytes bytes(77);
  const Transfer batch[] = {transfer_of(0, bytes)};
  Counters counters;
  engine->transfer(Direction::kWrite, batch, counters);
  EXPECT_EQ(file.contents(), counting_bytes(77));
}

TEST(NullEngine, CountsWhatPosixCounts) {
  EngineTestFile file;
  std::vector<Bytes> pieces(3000, Bytes(13));
  std::vector<Transfer> batch;
  int64_t offset = 0;
  for (Bytes& piece : pieces) {
    batch.push_back(transfer_of(offset, piece));
    offset += (batch.size() % 10 == 0) ? 20 : 13;  // a hole after every tenth
  }
  const auto count = [&](const std::string& name, bool background) {
    EngineTestFile other;
    auto engine = open_engine(other.path(), OpenMode::kCreateNew, {.engine = name, .request_bytes_max = 50});
    Counters counters;
    for (Direction direction : {Direction::kWrite, Direction::kRead}) {
      if (background) {
        engine->start(direction, batch);
        engine->wait(counters);
      } else {
        engine->transfer(direction, batch, counters);
      }
    }
    return counters;
  };
  for (bool background : {false, true}) {
    const Counters null = count("null", background);
    const Counters posix = count("posix", background);
    EXPECT_EQ(null.write_requests, posix.write_requests);
    EXPECT_EQ(null.read_requests, posix.read_requests);
    EXPECT_EQ(null.written_bytes, posix.written_bytes);
    EXPECT_EQ(null.read_bytes, posix.read_bytes);
    EXPECT_EQ(null.read_bytes, 39'000);
    EXPECT_EQ(null.read_requests, 900);  // 300 groups of 130 bytes, 50 a request
  }
}

}  // namespace
}  // namespace swath
