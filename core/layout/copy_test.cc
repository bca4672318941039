#include "layout/copy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "layout/layout.h"
#include "testing/naive.h"

namespace swath {
namespace {

using testing::Element;
using testing::Random;

constexpr int64_t kGuard = 64;

std::vector<std::byte> random_bytes(Random& random, int64_t n) {
  std::vector<std::byte> bytes(static_cast<size_t>(n));
  for (auto& byte : bytes) byte = static_cast<std::byte>(random.between(0, 255));
  return bytes;
}

// Random positions [first, last) of a random share, a window of the file and user memory, each with a guard around it.
struct CopyCase {
  Regions regions;
  std::vector<Element> list;
  int64_t first = 0;
  int64_t last = 0;
  int64_t window_offset = 0;
  int64_t memory_start = 0;  // where memory offset 0 is in `memory`
  std::vector<std::byte> window;
  std::vector<std::byte> memory;

  int64_t bytes() const { return regions.element_bytes(); }
  int64_t window_place(const Element& element) const { return element.offset - window_offset + kGuard; }
  int64_t memory_place(const Element& element) const { return element.memory + memory_start; }
};

template <typename Check>
void for_random_copies(uint64_t seed, int cases, const Check& check) {
  Random random(seed);
  for (int i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(0, 5)));
    const int64_t element_bytes = random.one_of<int64_t>({1, 2, 3, 4, 8, 16, 24});
    const auto share =
        testing::random_share(random, testing::random_strided_file(random, shape, element_bytes), random.chance(75));
    const Layout layout = share.file.layout();
    CopyCase given;
    given.regions = layout.regions(layout.panel(0), share.part);
    given.list = share.list;
    const auto count = static_cast<int64_t>(share.list.size());
    given.first = random.chance(30) ? 0 : random.between(0, count);
    given.last = random.chance(30) ? count : random.between(given.first, count);
    SCOPED_TRACE(share.text + " positions " + std::to_string(given.first) + " to " + std::to_string(given.last));
    int64_t lowest = 0;
    int64_t highest = 0;
    for (const auto& element : given.list) {
      lowest = std::min(lowest, element.memory);
      highest = std::max(highest, element.memory + element_bytes);
    }
    const bool any = given.first < given.last;
    given.window_offset = any ? given.list[given.first].offset : 0;
    const int64_t end = any ? given.list[given.last - 1].offset + element_bytes : 0;
    given.window = random_bytes(random, end - given.window_offset + 2 * kGuard);
    given.memory = random_bytes(random, highest - lowest + 2 * kGuard);
    given.memory_start = kGuard - lowest;
    check(given);
  }
}

TEST(Copy, GatherMovesTheElementsOfTheRangeAndNoOtherByte) {
  for_random_copies(51, 6000, [](CopyCase& given) {
    auto expected = given.memory;
    for (int64_t p = given.first; p < given.last; ++p) {
      const auto& element = given.list[p];
      std::memcpy(&expected[given.memory_place(element)], &given.window[given.window_place(element)], given.bytes());
    }
    gather_from_window(given.regions, given.first, given.last, given.window.data() + kGuard, given.window_offset,
                       given.memory.data() + given.memory_start);
    ASSERT_EQ(given.memory, expected);
  });
}

TEST(Copy, ScatterMovesTheElementsOfTheRangeAndNoOtherByte) {
  for_random_copies(52, 6000, [](CopyCase& given) {
    auto expected = given.window;
    for (int64_t p = given.first; p < given.last; ++p) {
      const auto& element = given.list[p];
      std::memcpy(&expected[given.window_place(element)], &given.memory[given.memory_place(element)], given.bytes());
    }
    scatter_to_window(given.regions, given.first, given.last, given.window.data() + kGuard, given.window_offset,
                      given.memory.data() + given.memory_start);
    ASSERT_EQ(given.window, expected);
  });
}

TEST(Copy, BetweenWindowsMovesTheElementsOfTheRangeAndNoOtherByte) {
  for_random_copies(53, 4000, [](CopyCase& given) {
    std::vector<std::byte> target(given.window.size(), std::byte{0xEE});
    auto expected = target;
    for (int64_t p = given.first; p < given.last; ++p) {
      const int64_t at = given.window_place(given.list[p]);
      std::memcpy(&expected[at], &given.window[at], given.bytes());
    }
    copy_between_windows(given.regions, given.first, given.last, target.data() + kGuard, given.window.data() + kGuard,
                         given.window_offset);
    ASSERT_EQ(target, expected);
  });
}

TEST(Copy, TransposesLargerThanATile) {
  Random random(54);
  for (const int64_t bytes : {1, 2, 3, 4, 8, 16, 24, 32, 64}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int64_t, int64_t>>{{70, 100}, {1, 300}, {129, 2}, {64, 64}}) {
      const auto source = random_bytes(random, rows * columns * bytes);
      std::vector<std::byte> target(source.size() + 2 * kGuard, std::byte{0xEE});
      auto expected = target;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          std::memcpy(&expected[kGuard + (c * rows + r) * bytes], &source[(r * columns + c) * bytes], bytes);
        }
      }
      copy_levels(target.data() + kGuard, source.data(), bytes,
                  {{rows, columns * bytes, bytes}, {columns, bytes, rows * bytes}});
      ASSERT_EQ(target, expected) << rows << " x " << columns << " of " << bytes << " bytes";
      // Reversed in both directions: the same, read and written from the other end.
      std::vector<std::byte> reversed(expected.size(), std::byte{0xEE});
      copy_levels(reversed.data() + kGuard + (rows * columns - 1) * bytes, source.data() + (rows * columns - 1) * bytes,
                  bytes, {{rows, -columns * bytes, -bytes}, {columns, -bytes, -rows * bytes}});
      ASSERT_EQ(reversed, expected) << "reversed " << rows << " x " << columns << " of " << bytes << " bytes";
    }
  }
}

TEST(Copy, LevelsOfOneAndNoneAreABlock) {
  std::vector<std::byte> source(40, std::byte{7});
  std::vector<std::byte> target(40, std::byte{1});
  copy_levels(target.data(), source.data(), 5, {});
  copy_levels(target.data() + 10, source.data(), 5, {{1, 1000, 1000}, {1, -1000, 8}});
  copy_levels(target.data() + 20, source.data(), 5, {{3, 100, 100}, {0, 8, 8}});
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(target[i] == std::byte{7}, i < 5 || (i >= 10 && i < 15)) << i;
}

}  // namespace
}  // namespace swath
