#include "model/block_allocator.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "base/error.h"

namespace swath {
namespace {

constexpr FileKey kA{1, 10};
constexpr FileKey kB{1, 11};
using Ranges = std::vector<DiskRange>;

TEST(BlockAllocator, OneWriterAtATimeMakesLongRuns) {
  BlockAllocator places(10'000, 100);
  for (int64_t at = 0; at < 300; at += 50) places.write(kA, at, 50);
  for (int64_t at = 0; at < 200; at += 50) places.write(kB, at, 50);
  for (int64_t at = 300; at < 400; at += 50) places.write(kA, at, 50);
  EXPECT_EQ(places.ranges(kA, 0, 400), (Ranges{{0, 300}, {500, 100}}));
  EXPECT_EQ(places.ranges(kB, 0, 200), (Ranges{{300, 200}}));
}

TEST(BlockAllocator, WritersThatTakeTurnsInterleaveExtentByExtent) {
  BlockAllocator places(10'000, 100);
  for (int64_t at = 0; at < 200; at += 50) {
    places.write(kA, at, 50);
    places.write(kB, at, 50);
  }
  EXPECT_EQ(places.ranges(kA, 0, 200), (Ranges{{0, 100}, {200, 100}}));
  EXPECT_EQ(places.ranges(kB, 0, 200), (Ranges{{100, 100}, {300, 100}}));
  EXPECT_EQ(places.ranges(kB, 70, 60), (Ranges{{170, 30}, {300, 30}}));
}

TEST(BlockAllocator, WrittenAgainItStaysWhereItIs) {
  BlockAllocator places(1'000, 100);
  places.write(kA, 0, 250);
  const Ranges before = places.ranges(kA, 0, 250);
  places.write(kB, 0, 100);
  places.write(kA, 10, 200);
  EXPECT_EQ(places.ranges(kA, 0, 250), before);
}

TEST(BlockAllocator, HolesHaveNoPlace) {
  BlockAllocator places(1'000, 100);
  places.write(kA, 550, 10);
  places.write(kA, 0, 0);
  EXPECT_EQ(places.ranges(kA, 0, 500), Ranges{});
  EXPECT_EQ(places.ranges(kA, 0, 1'000), (Ranges{{0, 100}}));  // the whole extent that was touched
  EXPECT_EQ(places.ranges(kB, 0, 100), Ranges{});
  EXPECT_EQ(places.free_bytes(), 900);
}

TEST(BlockAllocator, WhatIsGivenBackIsTakenAgainOnceTheEndIsReached) {
  BlockAllocator places(500, 100);
  places.write(kA, 0, 300);
  places.write(kB, 0, 100);
  places.resize(kA, 101);  // the second extent is still in use
  EXPECT_EQ(places.free_bytes(), 200);
  places.write(kB, 100, 200);
  EXPECT_EQ(places.ranges(kB, 0, 300), (Ranges{{300, 200}, {200, 100}}));
  places.forget(kA);
  EXPECT_EQ(places.ranges(kA, 0, 300), Ranges{});
  EXPECT_EQ(places.free_bytes(), 200);
  places.forget(kA);  // it does not exist any more
}

TEST(BlockAllocator, AFullDiskSaysSo) {
  BlockAllocator places(250, 100);
  places.write(kA, 0, 200);
  try {
    places.write(kB, 0, 1);
    FAIL() << "a full disk gave a place";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kStore);
    EXPECT_EQ(error.os_error(), ENOSPC);
  }
  places.forget(kA);
  places.write(kB, 0, 200);
}

TEST(BlockAllocator, NoTwoBytesEverShareAPlace) {
  std::mt19937 random(2);
  BlockAllocator places(6'400, 64);
  std::vector<int64_t> sizes(8, 0);
  for (int step = 0; step < 400; ++step) {
    const uint64_t file = random() % sizes.size();
    const FileKey key{0, file};
    if (random() % 4 == 0) {
      sizes[file] = sizes[file] * static_cast<int64_t>(random() % 3) / 3;
      places.resize(key, sizes[file]);
    } else if (sizes[file] < 600) {
      const auto bytes = static_cast<int64_t>(1 + random() % 100);
      places.write(key, sizes[file], bytes);
      sizes[file] += bytes;
    }
    std::vector<int> uses(6'400, 0);
    for (uint64_t other = 0; other < sizes.size(); ++other) {
      int64_t found = 0;
      for (const auto& [position, bytes] : places.ranges({0, other}, 0, sizes[other])) {
        for (int64_t i = 0; i < bytes; ++i) ASSERT_EQ(++uses[position + i], 1) << step;
        found += bytes;
      }
      ASSERT_EQ(found, sizes[other]) << step;
    }
  }
}

}  // namespace
}  // namespace swath
