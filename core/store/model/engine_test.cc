#include "store/model/engine.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "comm/simulated.h"
#include "model/presets.h"
#include "store/engine_test_file.h"

namespace swath {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Each test has its own disk, unaffected by other tests.
std::string on(const std::string& preset) {
  return "model:" + preset + "@" + testing::UnitTest::GetInstance()->current_test_info()->name();
}
DiskStatistics statistics() {
  return find_modelled_disk(testing::UnitTest::GetInstance()->current_test_info()->name())->statistics();
}

std::unique_ptr<Engine> open_on(const std::string& engine, const std::string& path, OpenMode mode) {
  return open_engine(path, mode, {.engine = engine});
}

void read(Engine& engine, int64_t offset, int64_t bytes) {
  Bytes memory(static_cast<size_t>(bytes));
  const Transfer batch[] = {transfer_of(offset, memory)};
  Counters counters;
  engine.transfer(Direction::kRead, batch, counters);
  EXPECT_EQ(counters.read_bytes, bytes);
}

double now() { return clock_of_thread().now(); }

TEST(ModelEngine, OneStreamTakesTheTimeThatTheModelSays) {
  EngineTestFile file;
  file.write(counting_bytes(4 * kMiB));
  run_ranks(1, [&](Comm&) {
    auto engine = open_on(on("p690-scsi"), file.path(), OpenMode::kRead);
    const double begin = now();
    read(*engine, 0, 4 * kMiB);
    const DiskParameters& disk = disk_preset("p690-scsi");
    const double expected = 16 * (disk.request_seconds + 256 * 1024 / disk.media_bytes_per_second);
    EXPECT_NEAR(now() - begin, expected, 1e-9);
    EXPECT_EQ(statistics().requests, 16);
    EXPECT_EQ(statistics().seeks, 0);
    read(*engine, 0, kMiB);  // not cached: the head moves back
    EXPECT_EQ(statistics().seeks, 1);
  });
}

// File systems reuse the inode number of a removed file. The disk once kept the blocks of a short removed file for the
// new file, so that the rest of it was read as a hole, in no time.
TEST(ModelledDisk, AFileMadeLaterWithTheSameInodeIsAnotherFile) {
  ModelledDisk disk(disk_preset("p690-scsi"));
  const FileKey inode{1, 7};
  const auto seconds = [&](int64_t offset) {
    return disk.transfer(inode, Direction::kRead, offset, kMiB, [] { return 0.0; });
  };
  disk.adopt(inode, 100, kMiB);
  const double of_hole = seconds(4 * kMiB);
  disk.adopt(inode, 100, 8 * kMiB);  // the same file, extended by other programs: the disk has no blocks for that part
  EXPECT_EQ(seconds(4 * kMiB), of_hole);
  disk.adopt(inode, 200, 8 * kMiB);
  EXPECT_GT(seconds(4 * kMiB), kMiB / disk.parameters().media_bytes_per_second);
}

// The time for `ranks` ranks that read a file of 8 MiB each: concurrently, or one after another.
double reading_seconds(const std::string& engine_name, bool at_once) {
  double seconds = 0;
  EngineTestFile files[4];
  run_ranks(4, [&](Comm& comm) {
    EngineTestFile& file = files[comm.rank()];
    for (int rank = 0; rank < comm.size(); ++rank) {  // one writer at a time
      comm.barrier();
      if (rank != comm.rank()) continue;
      Bytes bytes = counting_bytes(8 * kMiB);
      const Transfer batch[] = {transfer_of(0, bytes)};
      Counters counters;
      open_on(engine_name, file.path(), OpenMode::kCreateNew)->transfer(Direction::kWrite, batch, counters);
    }
    comm.barrier();
    const double begin = now();
    auto engine = open_on(engine_name, file.path(), OpenMode::kRead);
    for (int turn = 0; turn < comm.size(); ++turn) {
      if (!at_once) comm.barrier();
      if (at_once ? turn == 0 : turn == comm.rank()) read(*engine, 0, 8 * kMiB);
    }
    comm.barrier();
    seconds = now() - begin;
  });
  return seconds;
}

TEST(ModelEngine, StreamsInterleaveOnTheDiskAndSeek) {
  const double in_turns = reading_seconds(on("p690-scsi"), false);
  const int64_t seeks = statistics().seeks;
  EXPECT_LE(seeks, 4);
  const double at_once = reading_seconds(on("p690-scsi"), true);
  EXPECT_NEAR(at_once / in_turns, 1.5, 0.15);
  EXPECT_GT(statistics().seeks - seeks, 4 * 32 * 9 / 10);
}

TEST(ModelEngine, ASimulationRepeatsItselfExactly) {
  const double once = reading_seconds(on("cluster-nfs-raid5") + "1", true);
  EXPECT_EQ(reading_seconds(on("cluster-nfs-raid5") + "2", true), once);
}

TEST(ModelEngine, ABackgroundBatchTakesItsTimeInWait) {
  EngineTestFile file;
  file.write(counting_bytes(kMiB));
  run_ranks(1, [&](Comm&) {
    auto engine = open_on(on("xeon-eide"), file.path(), OpenMode::kRead);
    Bytes memory(kMiB);
    const Transfer batch[] = {transfer_of(0, memory)};
    const double begin = now();
    engine->start(Direction::kRead, batch);
    EXPECT_EQ(now(), begin);
    EXPECT_EQ(error_of([&] { engine->start(Direction::kRead, batch); }).kind(), ErrorKind::kInternal);
    Counters counters;
    engine->wait(counters);
    EXPECT_GT(now(), begin + 0.04);
    EXPECT_EQ(memory, counting_bytes(kMiB));
    EXPECT_EQ(counters.read_requests, 4);

    engine->start(Direction::kRead, batch);
    memory.assign(memory.size(), std::byte{0});
    engine.reset();  // the bytes are moved nevertheless
    EXPECT_EQ(memory, counting_bytes(kMiB));
  });
}

TEST(ModelEngine, RanksThatSleepUnderALockLetTheOthersWaitForIt) {
  EngineTestFile file;
  file.write(counting_bytes(kMiB));
  std::vector<double> held;
  run_ranks(3, [&](Comm&) {
    auto engine = open_on(on("xeon-eide"), file.path(), OpenMode::kReadWrite);
    const auto lock = engine->lock(0, kMiB);
    const double begin = now();
    read(*engine, 0, kMiB);
    held.push_back(begin);
    held.push_back(now());
  });
  ASSERT_EQ(held.size(), 6);
  EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));  // one after another, without overlap
  EXPECT_GT(held.back(), 3 * kMiB / 23e6);
}

TEST(ModelEngine, OnTheMachinesClockItReallyWaits) {
  EngineTestFile file;
  file.write(counting_bytes(kMiB));
  auto engine = open_on(on("xeon-eide"), file.path(), OpenMode::kRead);
  const double begin = now();
  read(*engine, 0, kMiB);
  EXPECT_GE(now() - begin, kMiB / 23e6);
}

TEST(ModelEngine, NothingIsCached) {
  EngineTestFile file;
  file.write(counting_bytes(1000));
  auto engine = open_on(on("ssd"), file.path(), OpenMode::kRead);
  EXPECT_EQ(engine->cached_part(0, 1000), 0);
  EXPECT_EQ(engine->cached_part(0, 0), 1);
}

TEST(ModelEngine, AnotherDiskMayTakeThePlaceOfOneInUse) {
  EngineTestFile file;
  file.write(counting_bytes(kMiB));
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  run_ranks(1, [&](Comm&) {
    auto engine = open_on(on("xeon-eide"), file.path(), OpenMode::kRead);
    const auto seconds = [&] {
      const double begin = now();
      read(*engine, 0, kMiB);
      return now() - begin;
    };
    const double on_disk = seconds();
    find_modelled_disk(name)->replace(disk_preset("ssd"));
    EXPECT_EQ(engine->name(), "modelled disk ssd");
    EXPECT_LT(seconds(), on_disk / 2);
    open_on(on("xeon-eide"), file.path(), OpenMode::kRead);  // opening it again does not undo the change
    EXPECT_EQ(engine->name(), "modelled disk ssd");
    EXPECT_EQ(statistics().read_bytes, 2 * kMiB);
  });
}

TEST(ModelEngine, FilesOfOneNameLieOnOneDiskBesideEachOther) {
  EngineTestFile a;
  EngineTestFile b;
  a.write(counting_bytes(kMiB));
  b.write(counting_bytes(kMiB));
  auto first = open_on(on("ssd"), a.path(), OpenMode::kRead);
  auto second = open_on(on("ssd"), b.path(), OpenMode::kRead);
  const auto disk = find_modelled_disk(testing::UnitTest::GetInstance()->current_test_info()->name());
  disk->record(true);
  read(*first, 0, 1000);
  read(*second, 0, 1000);
  const std::vector<HeadPosition> trace = disk->trace();
  ASSERT_EQ(trace.size(), 2);
  EXPECT_NE(trace[0].position, trace[1].position);
  EXPECT_NE(trace[0].stream, trace[1].stream);
}

TEST(ModelEngine, HolesCostTheDiskNothing) {
  EngineTestFile file;
  auto engine = open_on(on("xeon-eide"), file.path(), OpenMode::kCreateNew);
  engine->resize(kMiB);
  read(*engine, 0, kMiB);
  EXPECT_EQ(statistics().busy_seconds, 0);
  EXPECT_EQ(statistics().requests, 4);
}

TEST(ModelEngine, UnknownPresetsAndNamesAreRefused) {
  EngineTestFile file;
  const auto error = [&](const std::string& engine) {
    return std::string(error_of([&] { open_on(engine, file.path(), OpenMode::kCreateNew); }).what());
  };
  EXPECT_NE(error("model:floppy").find("modelled disk \"floppy\": expected one of xeon-eide"), std::string::npos);
  EXPECT_NE(error("model:").find("model:PRESET or model:PRESET@NAME"), std::string::npos);
  EXPECT_NE(error("model:ssd@").find("model:PRESET@NAME"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file.path()));
  EXPECT_EQ(error_of([] { find_modelled_disk("nobody's"); }).kind(), ErrorKind::kArgument);
}

}  // namespace
}  // namespace swath
