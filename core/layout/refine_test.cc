#include "layout/refine.h"

#include <gtest/gtest.h>

#include "layout/copy.h"
#include "testing/nests.h"

namespace swath {
namespace {

using testing::cases;
using testing::ListedNest;
using testing::NestOptions;
using testing::Random;

// A view and its memory, with their plain lists.
struct Case {
  View file;
  MemoryNest memory;
  std::vector<int64_t> offsets;  // of each byte of the view
  std::vector<int64_t> places;   // of each byte in memory
};

// A nest that is often regular, independent of the other one.
ListedNest random_side(Random& random, bool is_ascending, int64_t bytes_max) {
  NestOptions options{.depth = static_cast<int>(random.between(1, 4)), .is_ascending = is_ascending};
  options.bytes_max = bytes_max;
  return testing::random_nest(random, options);
}

// Both sides are strided; in about half of the cases their levels divide each other.
ListedNest random_regular(Random& random, bool is_ascending) {
  ListedNest nest{Nest::block(random.one_of<int64_t>({1, 2, 4, 8})), {}};
  for (int64_t i = 0; i < nest.nest.bytes(); ++i) nest.offsets.push_back(i);
  for (int64_t level = random.between(0, 3); level > 0; --level) {
    nest = testing::random_strided(random, {.is_ascending = is_ascending, .bytes_max = 600}, nest);
    if (nest.offsets.empty()) break;
  }
  return nest;
}

Case random_case(Random& random) {
  const bool is_regular = random.chance(50);
  const ListedNest file = is_regular ? random_regular(random, true) : random_side(random, true, 1000);
  ListedNest memory =
      is_regular && random.chance(70) ? random_regular(random, false) : random_side(random, false, 1000);
  const int64_t file_bytes = std::ssize(file.offsets);
  // Memory that is too short is repeated.
  if (memory.offsets.empty()) memory = {Nest::block(8), {0, 1, 2, 3, 4, 5, 6, 7}};
  const int64_t needed = file_bytes + 40;
  const int64_t times = needed / std::ssize(memory.offsets) + 1;
  const int64_t extent = random.chance(80) ? memory.span() : random.between(-50, 50);
  ListedNest repeated{Nest::strided(times, extent, memory.nest), {}};
  for (int64_t i = 0; i < times; ++i) repeated.append(memory, i * extent);
  Case made;
  made.file.nest = file.nest;
  made.file.first = random.chance(50) ? 0 : random.between(0, file_bytes);
  made.file.last = random.chance(50) ? file_bytes : random.between(made.file.first, file_bytes);
  made.memory.nest = repeated.nest;
  made.memory.first = random.chance(60) ? 0 : random.between(0, 40);
  for (int64_t i = 0; i < made.file.bytes(); ++i) {
    made.offsets.push_back(file.offsets[made.file.first + i]);
    made.places.push_back(repeated.offsets[made.memory.first + i]);
  }
  return made;
}

void for_random_cases(int count, const std::function<void(const Case&, Random&)>& check) {
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    Random random(static_cast<uint64_t>(seed) + 77);
    const Case made = random_case(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + made.file.to_string() + " to " + made.memory.nest.to_string());
    check(made, random);
  }
}

TEST(Refine, PairsEachByteOfTheFileWithItsPlaceInMemory) {
  int products = 0;
  int views = 0;
  for_random_cases(cases(4000), [&](const Case& made, Random&) {
    int64_t byte = 0;
    for (const Regions& regions : refine(made.file, made.memory)) {
      (regions.product() != nullptr ? products : views) += 1;
      for (int64_t position = 0; position < regions.count(); ++position) {
        for (int64_t i = 0; i < regions.element_bytes(); ++i, ++byte) {
          ASSERT_LT(byte, std::ssize(made.offsets));
          ASSERT_EQ(regions.offset_of(position) + i, made.offsets[byte]);
          ASSERT_EQ(regions.memory_of(position) + i, made.places[byte]);
        }
      }
    }
    ASSERT_EQ(byte, std::ssize(made.offsets));
  });
  EXPECT_GT(products, 100);
  EXPECT_GT(views, 100);
}

TEST(Refine, PartsHaveTheClosedFormsOfTheirList) {
  for_random_cases(cases(4000), [&](const Case& made, Random& random) {
    for (const Regions& regions : refine(made.file, made.memory)) {
      const int64_t count = regions.count();
      const int64_t bytes = regions.element_bytes();
      for (int i = 0; i < 10; ++i) {
        const int64_t first = random.between(0, count - 1);
        const int64_t last = random.between(first + 1, count);
        int64_t runs = 0;
        int64_t places = 0;
        for (int64_t p = first; p < last; ++p) {
          runs += p == first || regions.offset_of(p) != regions.offset_of(p - 1) + bytes;
          places += p == first || regions.memory_of(p) != regions.memory_of(p - 1) + bytes;
        }
        ASSERT_EQ(regions.runs(first, last), runs);
        ASSERT_GE(regions.pieces(first, last), std::max(runs, places));
        ASSERT_LE(regions.dense(first, last), places == 1);
        ASSERT_GE(regions.longest_run(), regions.run_at(first, last).bytes);
        const int64_t end = regions.memory_end(first, last);
        ASSERT_GT(end, first);
        ASSERT_LE(end, last);
        for (int64_t p = first + 1; p < end; ++p) ASSERT_EQ(regions.memory_of(p), regions.memory_of(p - 1) + bytes);
        const int64_t offset = regions.offset_of(first) + random.between(-2, 2);
        int64_t before = 0;
        for (int64_t p = 0; p < count; ++p) before += regions.offset_of(p) < offset;
        ASSERT_EQ(regions.elements_before(offset), before);
      }
    }
  });
}

// The memory of a case, and the position of place 0 in it.
struct Arena {
  explicit Arena(const Case& made) {
    for (const int64_t place : made.places) {
      low = std::min(low, place);
      high = std::max(high, place + 1);
    }
    bytes.assign(static_cast<size_t>(high - low + 16), std::byte{0xEE});
  }
  std::byte* base() { return bytes.data() + 8 - low; }

  int64_t low = 0;
  int64_t high = 0;
  std::vector<std::byte> bytes;
};

TEST(Refine, CopiesMoveEachByteAndNoOther) {
  for_random_cases(cases(4000), [&](const Case& made, Random& random) {
    if (made.offsets.empty()) return;
    const int64_t begin = made.offsets.front() - random.between(0, 5);
    std::vector<std::byte> window(static_cast<size_t>(made.offsets.back() + 10 - begin));
    for (auto& byte : window) byte = static_cast<std::byte>(random.between(0, 255));
    const auto all = refine(made.file, made.memory);
    // A read; if places repeat, any of their bytes may win.
    Arena memory(made);
    for (const Regions& regions : all) {
      const int64_t cut = random.between(0, regions.count());
      gather_from_window(regions, 0, cut, {window.data(), begin}, memory.base());
      gather_from_window(regions, cut, regions.count(), {window.data(), begin}, memory.base(),
                         {random.chance(50) ? Target::kStreamed : Target::kCached});
    }
    auto sorted = made.places;
    std::sort(sorted.begin(), sorted.end());
    const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    std::vector<bool> is_place(memory.bytes.size(), false);
    for (size_t i = 0; i < made.places.size(); ++i) {
      is_place[static_cast<size_t>(made.places[i] - memory.low + 8)] = true;
      if (!repeats) {
        ASSERT_EQ(memory.base()[made.places[i]], window[static_cast<size_t>(made.offsets[i] - begin)]) << "byte " << i;
      }
    }
    for (size_t i = 0; i < memory.bytes.size(); ++i) {
      ASSERT_TRUE(is_place[i] || memory.bytes[i] == std::byte{0xEE}) << "a byte beside";
    }
    // A write.
    for (auto& byte : memory.bytes) byte = static_cast<std::byte>(random.between(0, 255));
    std::vector<std::byte> expected(window.size(), std::byte{0xAA});
    for (size_t i = 0; i < made.places.size(); ++i) {
      expected[static_cast<size_t>(made.offsets[i] - begin)] = memory.base()[made.places[i]];
    }
    std::vector<std::byte> written(window.size(), std::byte{0xAA});
    std::vector<std::byte> copied(window.size(), std::byte{0xAA});
    std::vector<std::byte> packed;
    for (const Regions& regions : all) {
      const int64_t cut = random.between(0, regions.count());
      scatter_to_window(regions, 0, cut, {written.data(), begin}, memory.base());
      scatter_to_window(regions, cut, regions.count(), {written.data(), begin}, memory.base());
      copy_between_windows(regions, cut, regions.count(), copied.data(), expected.data(), begin);
      copy_between_windows(regions, 0, cut, copied.data(), expected.data(), begin);
    }
    ASSERT_EQ(written, expected);
    ASSERT_EQ(copied, expected);
    // A packed message.
    std::vector<std::byte> unpacked(window.size(), std::byte{0xAA});
    for (const Regions& regions : all) {
      packed.assign(static_cast<size_t>(regions.bytes()), std::byte{0});
      scatter_to_window(regions.packed_in_file(), 0, regions.count(), {packed.data(), 0}, memory.base());
      scatter_to_window(regions.packed(0), 0, regions.count(), {unpacked.data(), begin}, packed.data());
    }
    ASSERT_EQ(unpacked, expected);
  });
}

TEST(Refine, TransposedMatrixIsOneProduct) {
  // 100 columns of 8 bytes of a file in C order, to memory in F order.
  const View file = View::all(Nest::strided(50, 800, Nest::strided(100, 8, Nest::block(8))));
  const MemoryNest memory{Nest::strided(50, 8, Nest::strided(100, 400, Nest::block(8))), 0};
  const auto regions = refine(file, memory);
  ASSERT_EQ(regions.size(), 1);
  ASSERT_NE(regions[0].product(), nullptr);
  EXPECT_EQ(regions[0].bytes(), 40'000);
  EXPECT_EQ(regions[0].runs(), 1);
}

TEST(Refine, RaggedCutsAreFewProducts) {
  const Nest nest = Nest::strided(1000, 4096, Nest::strided(100, 16, Nest::block(8)));
  const View cut{nest, 13, nest.bytes() - 5};
  const auto regions = refine(cut, MemoryNest::packed(cut.bytes()));
  EXPECT_EQ(regions.size(), 5);
  for (const Regions& part : regions) EXPECT_NE(part.product(), nullptr);
}

}  // namespace
}  // namespace swath
