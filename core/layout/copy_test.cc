#include "layout/copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <span>
#include <thread>

#include "layout/copy_kernels.h"
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

// Random positions [first, last) of a random share; the file's window and the user's memory have guards.
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
    gather_from_window(given.regions, given.first, given.last, {given.window.data() + kGuard, given.window_offset},
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
    scatter_to_window(given.regions, given.first, given.last, {given.window.data() + kGuard, given.window_offset},
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

// `ranks` ranks take a window's elements in turn; packed, the elements of one rank follow each other.
TEST(Copy, LanesMoveSeveralRanksElementsInOnePass) {
  Random random(54);
  for (int i = 0; i < 300; ++i) {
    const int64_t bytes = random.one_of<int64_t>({1, 2, 3, 4, 8, 16, 24});
    const int64_t ranks = random.between(1, 9);
    const int64_t rows = random.between(1, 5);
    const int64_t columns = random.between(1, 70);
    const int64_t row_bytes = ranks * columns * bytes + random.between(0, 20);
    const Regions of_first(
        0, 0, bytes,
        {{IndexSet::range(0, rows), row_bytes, columns * bytes}, {IndexSet::strided(0, ranks, columns), bytes, bytes}});
    const int64_t first = random.between(0, of_first.count());
    const int64_t last = random.between(first, of_first.count());
    const Lanes lanes{ranks, bytes, of_first.bytes()};
    auto window = random_bytes(random, rows * row_bytes);
    auto packed = random_bytes(random, ranks * of_first.bytes());
    auto expected_packed = packed;
    auto expected_window = window;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (int64_t p = first; p < last; ++p) {
        const int64_t in_file = of_first.offset_of(p) + rank * bytes;
        const int64_t in_memory = of_first.memory_of(p) + rank * of_first.bytes();
        std::memcpy(&expected_packed[in_memory], &window[in_file], bytes);
        std::memcpy(&expected_window[in_file], &packed[in_memory], bytes);
      }
    }
    auto gathered = packed;
    gather_from_window(of_first, first, last, {window.data(), 0}, gathered.data(), {Target::kCached, lanes});
    ASSERT_EQ(gathered, expected_packed) << ranks << " ranks of " << bytes << " bytes";
    scatter_to_window(of_first, first, last, {window.data(), 0}, packed.data(), lanes);
    ASSERT_EQ(window, expected_window) << ranks << " ranks of " << bytes << " bytes";
  }
}

std::vector<InstructionSet> available_sets() {
  std::vector<InstructionSet> sets;
  for (const char* name : {"portable", "sse2", "avx2", "avx512"}) {
    const InstructionSet set = *instruction_set_of(name);
    if (set <= instruction_set_of_processor()) sets.push_back(set);
  }
  return sets;
}

// Memory between two pages without access: a read or a write past either end crashes the test program.
class FencedMemory {
 public:
  explicit FencedMemory(int64_t bytes) : page_(sysconf(_SC_PAGESIZE)), bytes_((bytes + page_ - 1) / page_ * page_) {
    void* pages = mmap(nullptr, whole(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) std::abort();
    pages_ = static_cast<std::byte*>(pages);
    if (mprotect(pages_ + page_, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~FencedMemory() { munmap(pages_, whole()); }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  // The first or the last `bytes` of the memory.
  std::span<std::byte> at_start(int64_t bytes) { return {pages_ + page_, static_cast<size_t>(bytes)}; }
  std::span<std::byte> at_end(int64_t bytes) { return {pages_ + page_ + bytes_ - bytes, static_cast<size_t>(bytes)}; }

 private:
  size_t whole() const { return static_cast<size_t>(bytes_ + 2 * page_); }

  int64_t page_;
  int64_t bytes_;
  std::byte* pages_;
};

void copy_naively(std::byte* target, const std::byte* source, int64_t bytes, std::span<const CopyLevel> levels) {
  if (levels.empty()) {
    std::memcpy(target, source, bytes);
    return;
  }
  for (int64_t i = 0; i < levels[0].count; ++i) {
    copy_naively(target + i * levels[0].target_stride, source + i * levels[0].source_stride, bytes, levels.subspan(1));
  }
}

// The extent of one side: before its first block, [low, 0), and from this block on, [0, high).
struct Reach {
  int64_t low = 0;
  int64_t high;
};

Reach reach_of(int64_t bytes, const std::vector<CopyLevel>& levels, int64_t CopyLevel::* stride) {
  Reach reach{0, bytes};
  for (const auto& level : levels) {
    const int64_t last = std::max<int64_t>(level.count - 1, 0) * (level.*stride);
    (last < 0 ? reach.low : reach.high) += last;
  }
  return reach;
}

// Source and target each have a fence at one end, at any alignment.
class CopyChecker {
 public:
  explicit CopyChecker(uint64_t seed) : random_(seed) {
    for (auto& byte : source_.at_start(kBytes)) byte = static_cast<std::byte>(random_.between(0, 255));
  }

  Random& random() { return random_; }

  void check(InstructionSet set, int64_t bytes, const std::vector<CopyLevel>& levels, Target use) {
    const Reach from = reach_of(bytes, levels, &CopyLevel::source_stride);
    const Reach to = reach_of(bytes, levels, &CopyLevel::target_stride);
    const int64_t source_bytes = from.high - from.low;
    const int64_t guard = random_.one_of<int64_t>({0, 0, 16, random_.between(0, 130)});
    const int64_t target_bytes = to.high - to.low + guard;
    ASSERT_LE(std::max(source_bytes, target_bytes), kBytes);
    const bool at_end = random_.chance(70);
    const std::byte* source = (at_end ? source_.at_end(source_bytes) : source_.at_start(source_bytes)).data();
    const auto target = at_end ? target_.at_end(target_bytes) : target_.at_start(target_bytes);
    std::fill(target.begin(), target.end(), std::byte{0xEE});
    const int64_t start = random_.between(0, guard) - to.low;
    std::vector<std::byte> expected(target.begin(), target.end());
    copy_naively(expected.data() + start, source - from.low, bytes, levels);
    copy_levels_with(set, target.data() + start, source - from.low, bytes, levels, use);
    finish_streaming();
    if (std::equal(target.begin(), target.end(), expected.begin())) return;
    std::string text = "instruction set " + std::to_string(static_cast<int>(set)) + ", blocks of " +
                       std::to_string(bytes) + (use == Target::kStreamed ? ", streamed" : "");
    for (const auto& level : levels) {
      text += ", " + std::to_string(level.count) + " from every " + std::to_string(level.source_stride) + " to every " +
              std::to_string(level.target_stride);
    }
    const auto wrong = std::mismatch(target.begin(), target.end(), expected.begin()).first - target.begin();
    FAIL() << text << ": byte " << wrong - start << " of the target is wrong";
  }

 private:
  static constexpr int64_t kBytes = int64_t{3} << 20;

  Random random_;
  FencedMemory source_{kBytes};
  FencedMemory target_{kBytes};
};

constexpr std::array kBothUses{Target::kCached, Target::kStreamed};

TEST(Copy, RowsOfEveryInstructionSetMoveTheirBlocksAndNoOtherByte) {
  CopyChecker checker(55);
  std::vector<int64_t> sizes;
  for (int64_t bytes = 1; bytes <= 64; ++bytes) sizes.push_back(bytes);
  for (const int64_t bytes : {65, 100, 128, 511, 512, 513, 1000}) sizes.push_back(bytes);
  for (const InstructionSet set : available_sets()) {
    for (const int64_t bytes : sizes) {
      std::vector<int64_t> strides{bytes + 1, 2 * bytes + 1, -bytes, -2 * bytes};
      for (const int64_t blocks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33}) strides.push_back(blocks * bytes);
      for (const int64_t stride : strides) {
        for (const Target use : kBothUses) {
          std::vector<int64_t> counts;
          for (int64_t count = 0; count <= 70; count += bytes <= 16 ? 1 : checker.random().between(1, 30)) {
            counts.push_back(count);
          }
          if (bytes <= 16) counts.push_back(checker.random().between(71, 3000));
          for (const int64_t count : counts) {
            checker.check(set, bytes, {{count, stride, bytes}}, use);
            checker.check(set, bytes, {{count, bytes, stride}}, use);
            if (::testing::Test::HasFailure()) return;
          }
          checker.check(set, bytes, {{40, stride, 2 * bytes}}, use);
        }
      }
    }
  }
}

TEST(Copy, NestsOfEveryInstructionSetMoveTheirBlocksAndNoOtherByte) {
  CopyChecker checker(56);
  Random& random = checker.random();
  for (int i = 0; i < 1000 && !::testing::Test::HasFailure(); ++i) {
    // Each side has its levels in its own order, with or without holes.
    const int64_t bytes = random.one_of<int64_t>({1, 2, 3, 4, 8, 12, 16, 24, 80});
    std::vector<CopyLevel> levels(static_cast<size_t>(random.between(0, 4)));
    for (auto& level : levels) level.count = random.chance(50) ? random.between(1, 12) : random.between(1, 40);
    for (const auto stride : {&CopyLevel::source_stride, &CopyLevel::target_stride}) {
      std::vector<size_t> order(levels.size());
      for (size_t d = 0; d < order.size(); ++d) order[d] = d;
      for (size_t d = order.size(); d > 1 && random.chance(60); --d) {
        std::swap(order[d - 1], order[static_cast<size_t>(random.between(0, static_cast<int64_t>(d) - 1))]);
      }
      int64_t step = bytes;
      for (const size_t d : order) {
        if (random.chance(40)) step += random.one_of<int64_t>({bytes, 3 * bytes, 1, 64});
        levels[d].*stride = random.chance(90) ? step : -step;
        step *= levels[d].count;
      }
    }
    const Reach from = reach_of(bytes, levels, &CopyLevel::source_stride);
    const Reach to = reach_of(bytes, levels, &CopyLevel::target_stride);
    if (std::max(from.high - from.low, to.high - to.low) > (1 << 20)) continue;
    for (const InstructionSet set : available_sets()) {
      for (const Target use : kBothUses) checker.check(set, bytes, levels, use);
    }
  }
}

TEST(Copy, TransposesOfEveryInstructionSetMoveTheirBlocksAndNoOtherByte) {
  CopyChecker checker(57);
  struct Size {
    int64_t rows, columns;
  };
  for (const InstructionSet set : available_sets()) {
    for (const int64_t bytes : {1, 2, 3, 4, 8, 16, 64}) {
      for (const Size size : std::vector<Size>{{70, 100}, {1, 300}, {129, 2}, {64, 64}, {300, 97}, {333, 40}}) {
        for (const int64_t gap : {0, 16, 33}) {  // between the rows of both sides
          const CopyLevel along_target{size.rows, size.columns * bytes + gap, bytes};
          const CopyLevel along_source{size.columns, bytes, size.rows * bytes + gap};
          for (const Target use : kBothUses) {
            checker.check(set, bytes, {along_target, along_source}, use);
            checker.check(set, bytes, {along_source, along_target}, use);
            // the order of one side is reversed
            checker.check(
                set, bytes,
                {{size.rows, -along_target.source_stride, -bytes}, {size.columns, -bytes, -along_source.target_stride}},
                use);
          }
        }
      }
    }
    // wider than the strip whose incomplete lines are kept
    checker.check(set, 1, {{270, 4500, 1}, {4500, 1, 300}}, Target::kStreamed);
    checker.check(set, 4, {{70, 10000, 4}, {2500, 4, 300}}, Target::kStreamed);
  }
}

// A kernel that reads a line, changes its own blocks and writes the line would undo writes of another rank to the gaps.
TEST(Copy, ScatterLeavesTheGapsToARankThatWritesThemAtTheSameTime) {
  constexpr int64_t kWindow = 4096;
  constexpr int kRounds = 3000;
  Random random(58);
  const auto packed = random_bytes(random, kWindow);
  for (const InstructionSet set : available_sets()) {
    for (const int64_t bytes : {1, 2, 4, 8}) {
      std::vector<std::byte> window(kWindow);
      std::atomic<bool> done = false;
      std::thread other([&] {
        while (!done) {
          copy_levels_with(set, window.data(), packed.data(), bytes, {{kWindow / bytes / 2, bytes, 2 * bytes}},
                           Target::kCached);
        }
      });
      int64_t lost = 0;
      volatile std::byte* gaps = window.data() + bytes;
      for (int round = 1; round <= kRounds; ++round) {
        const std::byte value{static_cast<uint8_t>(round)};
        for (int64_t i = 0; i < kWindow; i += 2 * bytes) gaps[i] = value;
        for (int64_t i = 0; i < kWindow; i += 2 * bytes) lost += gaps[i] != value;
      }
      done = true;
      other.join();
      EXPECT_EQ(lost, 0) << "blocks of " << bytes << ", instruction set " << static_cast<int>(set);
    }
  }
}

TEST(Copy, TheInstructionSetIsThatOfTheProcessorOrALowerOneByName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which no kernel is chosen yet
  const std::vector<std::string> names{"portable", "sse2", "avx2", "avx512"};
  const size_t best = available_sets().size() - 1;
  const auto print_name = [](const std::string& wanted) {
    setenv("SWATH_SIMD", wanted.c_str(), 1);
    std::cerr << "uses " << copy_instruction_set() << '\n';
    std::_Exit(0);
  };
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EXIT(print_name(names[i]), ::testing::ExitedWithCode(0), "uses " + names[std::min(i, best)]);
  }
  for (const char* wanted : {"", "SSE2", "avx"}) {
    EXPECT_EXIT(print_name(wanted), ::testing::ExitedWithCode(0), "uses " + names[best]);
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
