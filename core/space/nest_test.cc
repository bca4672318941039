#include "space/nest.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "space/nest_cursor.h"
#include "testing/nests.h"

namespace swath {
namespace {

using testing::cases;
using testing::ListedNest;
using testing::NestOptions;
using testing::Random;

int64_t naive_runs(const std::vector<int64_t>& offsets, int64_t first, int64_t last) {
  int64_t runs = 0;
  for (int64_t p = first; p < last; ++p) runs += p == first || offsets[p] != offsets[p - 1] + 1;
  return runs;
}

int64_t naive_run_end(const std::vector<int64_t>& offsets, int64_t position, int64_t last) {
  int64_t end = position + 1;
  while (end < last && offsets[end] == offsets[end - 1] + 1) ++end;
  return end;
}

bool naive_ascends(const std::vector<int64_t>& offsets) {
  return std::adjacent_find(offsets.begin(), offsets.end(), std::greater_equal<>()) == offsets.end();
}

void expect_closed_forms(const ListedNest& listed, Random& random) {
  const Nest& nest = listed.nest;
  const auto& offsets = listed.offsets;
  const int64_t bytes = std::ssize(offsets);
  ASSERT_EQ(nest.bytes(), bytes);
  ASSERT_EQ(nest.low(), listed.low());
  ASSERT_EQ(nest.high(), listed.high());
  if (bytes > 0) {
    ASSERT_EQ(nest.end(), offsets.back() + 1);
  }
  ASSERT_EQ(nest.is_ascending(), naive_ascends(offsets));
  for (int64_t p = 0; p < bytes; ++p) ASSERT_EQ(nest.offset_of(p), offsets[p]) << "position " << p;
  ASSERT_EQ(nest.runs(), naive_runs(offsets, 0, bytes));
  int64_t longest = 0;
  int64_t widest = 0;
  for (int64_t p = 0; p < bytes; p = naive_run_end(offsets, p, bytes)) {
    longest = std::max(longest, naive_run_end(offsets, p, bytes) - p);
    if (p > 0) widest = std::max(widest, offsets[p] - offsets[p - 1] - 1);
  }
  ASSERT_EQ(nest.longest_run(), longest);
  for (int i = 0; i < 20 && bytes > 0; ++i) {
    const int64_t first = random.between(0, bytes);
    const int64_t last = random.between(first, bytes);
    ASSERT_EQ(nest.runs(first, last), naive_runs(offsets, first, last)) << first << " to " << last;
    if (first == last) continue;
    const Nest::Run run = nest.run_at(first, last);
    ASSERT_EQ(run.offset, offsets[first]);
    ASSERT_EQ(run.position, first);
    ASSERT_EQ(run.bytes, naive_run_end(offsets, first, last) - first) << first << " to " << last;
  }
  if (!nest.is_ascending()) return;
  ASSERT_EQ(nest.widest_hole(), widest);
  for (int i = 0; i < 30 && bytes > 0; ++i) {
    const int64_t offset = random.chance(50) ? random.between(listed.low() - 3, listed.high() + 3)
                                             : offsets[random.between(0, bytes - 1)] + random.between(-1, 1);
    const int64_t before = std::lower_bound(offsets.begin(), offsets.end(), offset) - offsets.begin();
    ASSERT_EQ(nest.bytes_before(offset), before) << "offset " << offset;
  }
}

// A walk from `position` on visits all bytes in order.
void expect_walk(const ListedNest& listed, int64_t position, Random& random) {
  const int64_t bytes = std::ssize(listed.offsets);
  NestCursor cursor(listed.nest, position);
  while (position < bytes) {
    ASSERT_FALSE(cursor.at_end());
    const NestCursor::Row row = cursor.row();
    for (int64_t i = 0; i < row.count; ++i) {
      for (int64_t byte = 0; byte < row.block; ++byte) {
        ASSERT_EQ(row.offset + i * row.stride + byte, listed.offsets[position + i * row.block + byte]);
      }
    }
    const int64_t step = random.chance(30) ? random.between(1, row.block) : row.block * random.between(1, row.count);
    cursor.advance(step);
    position += step;
  }
  ASSERT_TRUE(cursor.at_end());
}

Nest read_again(const Nest& nest, std::vector<std::byte>* bytes = nullptr) {
  ByteWriter writer;
  nest.write(writer);
  ByteReader reader("a nest", writer.bytes());
  Nest read = Nest::read(reader);
  reader.expect_end();
  if (bytes != nullptr) *bytes = writer.bytes();
  return read;
}

void for_random_nests(int count, bool is_ascending, const std::function<void(const ListedNest&, Random&)>& check) {
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    Random random(static_cast<uint64_t>(seed));
    NestOptions options{.depth = static_cast<int>(random.between(1, 4)), .is_ascending = is_ascending};
    if (random.chance(20)) options.far = (int64_t{1} << 32) + random.between(0, 1000);
    const ListedNest listed = testing::random_nest(random, options);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + listed.nest.to_string());
    check(listed, random);
  }
}

TEST(Nest, ClosedFormsEqualTheListWhereItAscends) { for_random_nests(cases(4000), true, expect_closed_forms); }

TEST(Nest, ClosedFormsEqualTheListInAnyOrder) { for_random_nests(cases(4000), false, expect_closed_forms); }

TEST(Nest, WalkMeetsAllBytesInOrder) {
  for_random_nests(cases(2000), false, [](const ListedNest& listed, Random& random) {
    expect_walk(listed, 0, random);
    if (!listed.offsets.empty()) expect_walk(listed, random.between(0, std::ssize(listed.offsets) - 1), random);
  });
}

TEST(Nest, BytesReadBackAsTheSame) {
  for_random_nests(cases(2000), false, [](const ListedNest& listed, Random&) {
    std::vector<std::byte> bytes;
    const Nest again = read_again(listed.nest, &bytes);
    ASSERT_EQ(again, listed.nest);
    std::vector<std::byte> bytes_again;
    read_again(again, &bytes_again);
    ASSERT_EQ(bytes_again, bytes);
  });
}

TEST(Nest, MutatedBytesAreReadOrRefusedNeverMore) {
  int read = 0;
  for_random_nests(cases(2000), false, [&](const ListedNest& listed, Random& random) {
    std::vector<std::byte> bytes;
    read_again(listed.nest, &bytes);
    for (int i = 0; i < 10; ++i) {
      auto mutated = bytes;
      const auto at = static_cast<size_t>(random.between(0, std::ssize(bytes) - 1));
      mutated[at] = static_cast<std::byte>(random.between(0, 255));
      if (random.chance(20)) mutated.resize(static_cast<size_t>(random.between(0, std::ssize(bytes))));
      try {
        ByteReader reader("a nest", mutated);
        const Nest nest = Nest::read(reader);
        reader.expect_end();
        ++read;
        if (!nest.empty()) nest.offset_of(nest.bytes() - 1);
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::kFormat) << error.what();
      }
    }
  });
  EXPECT_GT(read, 0);
}

// Equal levels are compared child by child. A sender of many copies of one level is refused before this comparison is
// repeated many times.
TEST(Nest, ALevelThatWasThereBeforeIsRefusedWhenItComes) {
  constexpr int64_t kBlock = 0;
  constexpr int64_t kStrided = 1;
  constexpr int64_t kSequence = 4;
  ByteWriter writer;
  writer.put(int64_t{0});
  writer.put(int64_t{6});
  for (const int64_t number : {kBlock, int64_t{1}}) writer.put(number);
  for (const int64_t count : {2, 2, 3}) {
    for (const int64_t number : {kStrided, count, int64_t{10}, int64_t{0}}) writer.put(number);
  }
  for (const int64_t second : {2, 3}) {
    writer.put(kSequence);
    writer.put(std::vector<int64_t>{0, 100});
    writer.put(std::vector<int64_t>{1, second});
  }
  ByteReader reader("a nest", writer.bytes());
  try {
    Nest::read(reader);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    EXPECT_NE(std::string(error.what()).find("a level that was there before"), std::string::npos) << error.what();
  }
}

TEST(Nest, WhatTouchesIsOneBlock) {
  const std::vector<int64_t> touching{40, 44, 48};
  EXPECT_EQ(Nest::indexed(touching, Nest::block(4)), Nest::block(12).shifted(40));
  EXPECT_EQ(Nest::strided(3, 4, Nest::block(4)), Nest::block(12));
  EXPECT_EQ(Nest::strided(1, 99, Nest::block(4)), Nest::block(4));
}

TEST(Nest, ListsAtEqualDistancesAreStrided) {
  std::vector<int64_t> displacements;
  for (int64_t i = 0; i < 1000; ++i) displacements.push_back(7 + 32 * i);
  const Nest listed = Nest::indexed(displacements, Nest::block(8));
  EXPECT_EQ(listed, Nest::strided(1000, 32, Nest::block(8)).shifted(7));
  EXPECT_EQ(listed.listed(), 0);
}

TEST(Nest, EqualChildrenOfASequenceAreIndexed) {
  const std::vector<int64_t> displacements{0, 100, 300};
  const std::vector<Nest> children(3, Nest::strided(2, 16, Nest::block(8)));
  const Nest sequence = Nest::sequence(displacements, children);
  EXPECT_EQ(sequence, Nest::indexed(displacements, children[0]));
  EXPECT_EQ(sequence.to_string(), "3 places of 2 x 16 bytes apart of 8 bytes");
}

TEST(Nest, MemoryIsWhatWasListed) {
  // 4,000,000 strided blocks take as much memory as one.
  const Nest regular = Nest::strided(2000, 1 << 20, Nest::strided(2000, 32, Nest::block(8)));
  EXPECT_EQ(regular.runs(), 4'000'000);
  EXPECT_LT(regular.memory_bytes(), 2000);
  std::vector<int64_t> displacements;
  Random random(1);
  for (int64_t i = 0, at = 0; i < 100'000; ++i) displacements.push_back(at += random.between(9, 99));
  const Nest listed = Nest::indexed(displacements, Nest::block(8));
  EXPECT_EQ(listed.listed(), 100'000);
  EXPECT_LT(listed.memory_bytes(), 100'000 * 8 + 2000);
}

TEST(Nest, WhatLiesBeyondIsRefused) {
  const Nest block = Nest::block(8);
  EXPECT_THROW(Nest::strided(int64_t{1} << 40, int64_t{1} << 40, block), Error);
  EXPECT_THROW(block.shifted(INT64_MAX), Error);
  Nest deep = block;
  EXPECT_THROW(
      {
        for (int64_t level = 1; level < 100; ++level) deep = Nest::strided(2, 8 + 1000 * level * level, deep);
      },
      Error);
}

TEST(Nest, OneThatBeginsBeforeByteZeroHasAllItsBytesBeforeTheEndOfAnyFile) {
  const Nest nest = Nest::blocks(std::vector<int64_t>{0, 24, 30}, std::vector<int64_t>{8, 2, 4}).shifted(-16);
  EXPECT_EQ(nest.bytes_before(INT64_MAX), nest.bytes());
  EXPECT_EQ(nest.bytes_before(-16), 0);
  EXPECT_EQ(nest.bytes_before(9), 9);
}

TEST(Nest, DoublingLevelsNeitherBlowUpNorSlowDown) {
  // Each level has the next one twice, with a gap: 2^30 paths lead to the innermost.
  Nest nest = Nest::blocks(std::vector<int64_t>{0, 4}, std::vector<int64_t>{1, 2});
  Nest same = Nest::blocks(std::vector<int64_t>{0, 4}, std::vector<int64_t>{1, 2});
  for (int level = 0; level < 20; ++level) {
    const int64_t span = nest.high();
    const std::vector<int64_t> displacements{0, span + 1, span + 10};
    nest = Nest::sequence(displacements, std::vector<Nest>{nest, Nest::block(3), nest});
    same = Nest::sequence(displacements, std::vector<Nest>{same, Nest::block(3), same});
  }
  EXPECT_TRUE(nest == same);
  EXPECT_EQ(read_again(nest), nest);
}

}  // namespace
}  // namespace swath
