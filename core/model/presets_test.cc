#include "model/presets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "model/simulated_readers.h"

namespace swath {
namespace {

using testing::read_with;
using testing::ReadersCase;

// The seconds for each number of readers, relative to the best number.
std::map<int, double> relative_times(const std::string& preset, const ReadersCase& asked) {
  std::map<int, double> seconds;
  double best = std::numeric_limits<double>::infinity();
  for (int readers = 1; readers <= asked.tasks; readers *= 2) {
    seconds[readers] = read_with(disk_preset(preset), asked, readers).seconds;
    best = std::min(best, seconds[readers]);
  }
  for (auto& [readers, relative] : seconds) relative /= best;
  return seconds;
}

double megabytes_per_second(const std::string& preset, const ReadersCase& asked, int readers) {
  const auto bytes = static_cast<double>(int64_t{asked.tasks} * asked.bins * asked.chunk_bytes);
  return bytes / 1e6 / read_with(disk_preset(preset), asked, readers).seconds;
}

// The token is held for a whole chunk, as in the paper (RMOD), or for one burst, as in Swath.
const ReadersCase kChunks = {.bins = 2, .burst_bytes = 12'500'000};
const ReadersCase kBursts = {.bins = 2};
const ReadersCase kXeon = {.tasks = 4, .bins = 4, .chunk_bytes = 18'000'000, .burst_bytes = 18'000'000};

TEST(DiskPresets, AreThePapersSystemsAndAnSsd) {
  std::vector<std::string> names;
  for (const DiskParameters& preset : disk_presets()) {
    names.push_back(preset.name);
    EXPECT_NO_THROW(DiskModel disk(preset));
    EXPECT_FALSE(preset.description.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"xeon-eide", "p690-scsi", "p690-raid5", "cluster-nfs-raid5", "ssd"}));
  try {
    disk_preset("floppy");
    FAIL() << "there is no floppy";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "modelled disk \"floppy\": expected one of xeon-eide, p690-scsi, p690-raid5, cluster-nfs-raid5, ssd");
  }
}

// Table 6, one writer: 4 readers 86 s (InvD, TIO + LBSTIO), 1 reader 58 s: 1.48.
TEST(DiskPresets, TheXeonsDiskIsBestWithOneReader) {
  const std::map<int, double> times = relative_times("xeon-eide", kXeon);
  EXPECT_EQ(times.at(1), 1);
  EXPECT_NEAR(times.at(4), 1.48, 0.1);
  EXPECT_NEAR(megabytes_per_second("xeon-eide", kXeon, 1), 1152 / 58.0, 2);
}

// Table 7, one writer: 16 readers 152 + 7 to 157 + 6 s, 1 reader 105 s: 1.51 to 1.55.
TEST(DiskPresets, TheP690sDiskIsBestWithOneReader) {
  for (const ReadersCase& asked : {kChunks, kBursts}) {
    const std::map<int, double> times = relative_times("p690-scsi", asked);
    EXPECT_EQ(times.at(1), 1);
    EXPECT_NEAR(times.at(2), 1.53, 0.1);
    EXPECT_NEAR(times.at(16), 1.53, 0.1);
  }
  EXPECT_NEAR(megabytes_per_second("p690-scsi", kChunks, 1), 3200 / 105.0, 2);
}

// Figure 3 (a), total time: 4 best, 2 within 2 %, 1 13 % longer, 16 40 % longer. Reading is about two thirds of it.
TEST(DiskPresets, TheP690sRaidIsBestWithTwoToFourReaders) {
  for (const ReadersCase& asked : {kChunks, kBursts}) {
    const std::map<int, double> times = relative_times("p690-raid5", asked);
    EXPECT_LE(times.at(4), 1.01);
    EXPECT_LE(times.at(2), 1.06);
    EXPECT_GT(times.at(1), 1.1);
    EXPECT_LT(times.at(1), 1.4);
    EXPECT_GT(times.at(8), 1);
    EXPECT_LT(times.at(8), 1.15);
    EXPECT_NEAR(times.at(16), 1.6, 0.15);
  }
  EXPECT_GT(megabytes_per_second("p690-raid5", kChunks, 4), 115);
  EXPECT_LE(megabytes_per_second("p690-raid5", kChunks, 4), 125);
}

// Table 8, one writer, InvD and W together, TIO + LBSTIO: 1: 1.53, 2: 1.57 (W alone 1.34), 4: 1.06, 8: best, 16: 1.08.
TEST(DiskPresets, TheClustersRaidIsBestWithEightReaders) {
  const ReadersCase even = {.bins = 2, .chunk_bytes = 16 << 20, .burst_bytes = 16 << 20};
  for (const ReadersCase& asked : {kChunks, kBursts, even}) {
    const std::map<int, double> times = relative_times("cluster-nfs-raid5", asked);
    EXPECT_LE(times.at(8), 1.01);
    EXPECT_NEAR(times.at(1), 1.53, 0.15);
    EXPECT_GT(times.at(2), 1.1);  // figure 3 (b), total time: 13 % longer
    EXPECT_LT(times.at(2), 1.4);
    EXPECT_NEAR(times.at(4), 1.06, 0.065);
    EXPECT_NEAR(times.at(16), 1.08, 0.03);
  }
}

// Table 8: one reader takes 1.76 times as long for a file that 16 wrote at once as for one that they wrote in turns.
TEST(DiskPresets, FilesThatWereWrittenAtOnceAreReadMoreSlowly) {
  ReadersCase at_once = kChunks;
  at_once.one_writer = false;
  const DiskParameters& cluster = disk_preset("cluster-nfs-raid5");
  const auto coarse = read_with(cluster, kChunks, 1);
  const auto fine = read_with(cluster, at_once, 1);
  EXPECT_NEAR(fine.seconds / coarse.seconds, 1.76, 0.3);
  EXPECT_GT(fine.statistics.seeks, coarse.statistics.seeks);
}

TEST(DiskPresets, AnSsdIsNotSlowedByStreams) {
  const std::map<int, double> times = relative_times("ssd", kBursts);
  EXPECT_GT(times.at(1), 2);
  EXPECT_LE(times.at(16), 1.02);
}

TEST(DiskPresets, SeeksExplainTheDifference) {
  const DiskParameters& disk = disk_preset("p690-scsi");
  const auto one = read_with(disk, kChunks, 1).statistics;
  const auto all = read_with(disk, kChunks, 16).statistics;
  EXPECT_EQ(one.read_bytes, all.read_bytes);
  EXPECT_LT(one.seeks, 40);  // one seek at the begin of each file
  EXPECT_GT(all.seeks, all.requests * 9 / 10);
}

}  // namespace
}  // namespace swath
