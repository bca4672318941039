#include "plan/file_domains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "testing/requests.h"

namespace swath {
namespace {

using testing::Random;
using testing::RequestCase;

// Calls check(case, access of all ranks together, tuning, domains) for random requests that are not empty.
template <typename Check>
void for_random_domains(uint64_t seed, const Check& check) {
  Random random(seed);
  for (int i = 0; i < 1000 && !::testing::Test::HasFailure(); ++i) {
    const RequestCase given = testing::random_request(random, {});
    const Tuning tuning = testing::random_tuning(random);
    SCOPED_TRACE(given.text + " window_bytes " + std::to_string(tuning.window_bytes));
    const Access together(*given.layout, given.decomposition.together(given.file.element_bytes));
    const FileDomains domains(together, given.decomposition.ranks(), tuning);
    const auto offsets = testing::sorted_offsets(given.together);
    ASSERT_EQ(domains.empty(), offsets.empty());
    if (!domains.empty()) check(given, together, tuning, domains, offsets);
  }
}

// 8-byte elements in C order, one dimension.
Layout row_of(int64_t elements, int64_t element_bytes = 8, int64_t offset = 0) {
  return Layout::ordered({elements}, element_bytes, offset, {0});
}

Access all_of(const Layout& layout) {
  return Access(layout, {selected_part(select_all(layout.shape()), layout.element_bytes())});
}

// Elements start, start + step, ...
Access every(const Layout& layout, int64_t start, int64_t step, int64_t count) {
  return Access(layout, {selected_part({{start, step, count, false}}, layout.element_bytes())});
}

TEST(FileDomains, AreDisjointAscendingAndCoverEveryElement) {
  for_random_domains(1, [](const auto& given, const Access&, const Tuning&, const auto& domains, const auto& offsets) {
    EXPECT_EQ(domains[domains.size() - 1].end, offsets.back() + given.file.element_bytes);
    for (size_t i = 0; i < domains.size(); ++i) {
      EXPECT_LE(domains[i].begin, domains[i].end);
      EXPECT_EQ(domains[i].begin, i > 0 ? domains[i - 1].end : offsets.front());
    }
  });
}

TEST(FileDomains, BelongToDifferentRanksThatExistAndToNoMoreThanAskedFor) {
  for_random_domains(2, [](const auto& given, const Access&, const Tuning& tuning, const auto& domains, const auto&) {
    for (size_t i = 0; i < domains.size(); ++i) {
      EXPECT_LT(domains[i].rank, given.decomposition.ranks());
      EXPECT_GT(domains[i].rank, i > 0 ? domains[i - 1].rank : -1);
      EXPECT_EQ(domains.rank_of(i), domains[i].rank);
      EXPECT_EQ(domains.index_of(domains[i].rank), i);
    }
    int aggregators = 0;
    for (int rank = -1; rank <= given.decomposition.ranks(); ++rank) aggregators += domains.index_of(rank) >= 0 ? 1 : 0;
    EXPECT_EQ(aggregators, domains.size());
    EXPECT_LE(std::ssize(domains), tuning.aggregators > 0 ? tuning.aggregators : given.decomposition.ranks());
  });
}

TEST(FileDomains, OfADenseArrayAreEqualAndStartAtMultiplesOfTheWindow) {
  const Layout layout = row_of(4 << 20);
  const FileDomains domains(all_of(layout), 4, {});
  ASSERT_EQ(domains.size(), 4U);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(domains[static_cast<size_t>(i)].begin, i * (8 << 20));
    EXPECT_EQ(domains[static_cast<size_t>(i)].end, (i + 1) * (8 << 20));
  }
}

TEST(FileDomains, HoldAboutEqualNumbersOfElements) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const int64_t count = random.between(100'000, 1'000'000);
    const int64_t step = random.between(1, 5);
    const Layout layout = row_of(count * step, 8, random.between(0, 10'000));
    const int ranks = static_cast<int>(random.between(1, 7));
    const Access together = every(layout, 0, step, count);
    const FileDomains domains(together, ranks, {});
    for (size_t d = 0; d < domains.size(); ++d) {
      const FileDomain domain = domains[d];
      // Starts are rounded down to pages (less than four windows in a domain) or to windows.
      const int64_t window_bytes = Tuning().window_bytes;
      const int64_t rounding = 8 * count / ranks >= 4 * window_bytes ? window_bytes : 4096;
      EXPECT_LE(std::abs(together.bytes_in(domain.begin, domain.end) - 8 * count / ranks),
                rounding + int64_t{8} * ranks)
          << count << " of step " << step << " over " << ranks;
    }
  }
}

TEST(FileDomains, HoldEqualNumbersOfElementsNotEqualSpans) {
  // Pages 0 ... 999 and 2000 ... 2999: the middle of the span is page 1500, that of the elements page 2000.
  const Layout layout = row_of(3000, 4096);
  const Distribution distribution({{DimensionRule::Kind::kCyclic, 1000}}, {2});
  const Access together(layout, {distributed_part(distribution, select_all({3000}), 0, 4096)});
  const FileDomains domains(together, 2, {});
  ASSERT_EQ(domains.size(), 2U);
  EXPECT_EQ(together.bytes_in(domains[0].begin, domains[0].end), 1000 * 4096);
  EXPECT_EQ(together.bytes_in(domains[1].begin, domains[1].end), 1000 * 4096);
}

TEST(FileDomains, AreSpreadOverTheRanksWhereThereAreFewerAggregators) {
  const Layout layout = row_of(4 << 20);
  Tuning tuning;
  tuning.aggregators = 2;
  const FileDomains domains(all_of(layout), 8, tuning);
  ASSERT_EQ(domains.size(), 2U);
  EXPECT_EQ(domains[0].rank, 0);
  EXPECT_EQ(domains[1].rank, 4);
}

TEST(FileDomains, AreNoMoreThanRanksNorThanElementsNorSmallerThanTheirMinimum) {
  Tuning tuning;
  tuning.aggregators = 100;
  const Layout large = row_of(4 << 20);
  EXPECT_EQ(FileDomains(all_of(large), 3, tuning).size(), 3U);
  const Layout small = row_of(3 * (64 << 10) / 8);  // three times domain_bytes_min
  EXPECT_EQ(FileDomains(all_of(small), 100, {}).size(), 3U);
  tuning.domain_bytes_min = 1;
  const Layout two = row_of(2);
  EXPECT_EQ(FileDomains(all_of(two), 100, tuning).size(), 2U);
}

TEST(FileDomains, OfNothingAreNone) {
  const Layout layout = row_of(100);
  EXPECT_TRUE(FileDomains(every(layout, 0, 1, 0), 4, {}).empty());
}

// The windows of all rounds, as the rank `rank` computes them.
std::vector<RoundWindows> rounds_for(const RequestCase& given, const Access& together, const Tuning& tuning,
                                     const FileDomains& domains, int rank) {
  const Access mine = Access::of(*given.layout, given.decomposition, rank);
  WindowRounds rounds(together, domains, tuning.window_bytes, mine, domains.index_of(rank),
                      rounds_of(together, domains, tuning.window_bytes));
  std::vector<RoundWindows> all;
  for (RoundWindows windows; rounds.next(windows);) all.push_back(windows);
  return all;
}

TEST(WindowRounds, OfAllAggregatorsCoverEveryElementOnceEachInTheDomainThatHoldsIt) {
  for_random_domains(4, [](const RequestCase& given, const Access& together, const Tuning& tuning, const auto& domains,
                           std::vector<int64_t> offsets) {
    const int64_t element_bytes = given.file.element_bytes;
    std::vector<int64_t> covered;
    for (size_t i = 0; i < domains.size(); ++i) {
      for (const RoundWindows& windows : rounds_for(given, together, tuning, domains, domains.rank_of(i))) {
        if (!windows.own) continue;
        const Window& window = *windows.own;
        EXPECT_GE(window.begin, domains[i].begin);
        EXPECT_LE(window.limit, domains[i].end);
        EXPECT_LE(window.limit - window.begin, tuning.window_bytes);
        EXPECT_LE(window.bytes(), window_capacity(together, tuning.window_bytes));
        const auto from = std::lower_bound(offsets.begin(), offsets.end(), window.begin);
        const auto to = std::lower_bound(from, offsets.end(), window.limit);
        ASSERT_LT(from, to) << "a window without an element";
        EXPECT_EQ(window.begin, *from);
        EXPECT_EQ(window.end, *(to - 1) + element_bytes);
        covered.insert(covered.end(), from, to);
      }
    }
    std::sort(covered.begin(), covered.end());
    EXPECT_EQ(covered, offsets);
  });
}

TEST(WindowRounds, ShareWithARankTheWindowsOfTheRoundInWhichItHasElements) {
  for_random_domains(
      5, [](const RequestCase& given, const Access& together, const Tuning& tuning, const auto& domains, const auto&) {
        std::vector<std::vector<RoundWindows>> of_aggregators;
        for (size_t i = 0; i < domains.size(); ++i) {
          of_aggregators.push_back(rounds_for(given, together, tuning, domains, domains.rank_of(i)));
        }
        for (int rank = 0; rank < given.decomposition.ranks(); ++rank) {
          const Access mine = Access::of(*given.layout, given.decomposition, rank);
          const auto rounds = rounds_for(given, together, tuning, domains, rank);
          for (size_t round = 0; round < rounds.size(); ++round) {
            std::vector<std::pair<size_t, int64_t>> expected;
            for (size_t i = 0; i < domains.size(); ++i) {
              const auto& window = of_aggregators[i][round].own;
              if (window && mine.bytes_in(window->begin, window->limit) > 0) expected.emplace_back(i, window->begin);
            }
            std::vector<std::pair<size_t, int64_t>> shared;
            for (const auto& [domain, window] : rounds[round].shared) shared.emplace_back(domain, window.begin);
            EXPECT_EQ(shared, expected) << "rank " << rank << ", round " << round;
          }
        }
      });
}

TEST(WindowCapacity, IsWholePagesAndNoMoreThanTheSpan) {
  const Layout layout = row_of(1 << 20);
  EXPECT_EQ(window_capacity(every(layout, 0, 1, 0), 1 << 20), 0);
  EXPECT_EQ(window_capacity(every(layout, 7, 1, 1), 1 << 20), 4096);
  EXPECT_EQ(window_capacity(every(layout, 0, 2, 1000), 1 << 20), 16384);  // 15,992 bytes
  // the last element ends after the window
  EXPECT_EQ(window_capacity(all_of(layout), 1 << 20), (1 << 20) + 4096);
  EXPECT_EQ(window_capacity(all_of(row_of(1 << 20, 1)), 1 << 16), 1 << 16);     // no element is cut
  EXPECT_EQ(window_capacity(all_of(row_of(10, 100'000)), 1 << 10), 25 * 4096);  // elements larger than the window
}

WindowTransfer window_write_of(const Access& access, int64_t runs_bytes_min) {
  Tuning tuning;
  tuning.runs_bytes_min = runs_bytes_min;
  return window_transfer(access, *access.next_window(0, INT64_MAX, 1 << 20), Direction::kWrite, tuning);
}

TEST(WindowTransfer, IsWholeWhereTheRanksLeaveNoHole) {
  const Layout layout = row_of(1000);
  EXPECT_EQ(window_write_of(all_of(layout), 1 << 20), WindowTransfer::kWhole);
  // holes outside of the window do not count
  EXPECT_EQ(window_write_of(every(layout, 10, 1, 500), 1), WindowTransfer::kWhole);
}

TEST(WindowTransfer, IsRunByRunWhereRunsAreLongAndSievedWhereTheyAreShort) {
  const Layout layout = row_of(100, 64);
  const Access separate = every(layout, 0, 2, 50);
  EXPECT_EQ(window_write_of(separate, 64), WindowTransfer::kRuns);
  EXPECT_EQ(window_write_of(separate, 65), WindowTransfer::kSieve);
}

TEST(WindowTransfer, LooksAtItsOwnWindowOnly) {
  // Elements 0 ... 99 without a hole, then every second one.
  const Layout layout = row_of(300, 8);
  const Access access(layout, {box_part({0}, {100}, 8), selected_part({{100, 2, 100, false}}, 8)});
  EXPECT_EQ(window_transfer(access, {0, 800, 800}, Direction::kWrite, {}), WindowTransfer::kWhole);
  EXPECT_EQ(window_transfer(access, {800, 1592, 1600}, Direction::kWrite, {}), WindowTransfer::kSieve);
}

TEST(WindowTransfer, IsWhatTheInnerMethodSaysAndNothingIsFilledInToBeRead) {
  const Layout layout = row_of(100, 64);
  const Access separate = every(layout, 0, 2, 50);
  const Window window = *separate.next_window(0, INT64_MAX, 1 << 20);
  Tuning tuning;
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    tuning.inner = Method::kList;
    EXPECT_EQ(window_transfer(separate, window, direction, tuning), WindowTransfer::kRuns);
    tuning.inner = Method::kDatatype;
    EXPECT_EQ(window_transfer(separate, window, direction, tuning), WindowTransfer::kDescribed);
    EXPECT_EQ(window_transfer(all_of(layout), {0, 6400, 6400}, direction, tuning), WindowTransfer::kWhole);
    tuning.inner = Method::kSieve;
    EXPECT_EQ(window_transfer(separate, window, direction, tuning),
              direction == Direction::kRead ? WindowTransfer::kWhole : WindowTransfer::kSieve);
  }
  const Access overlapping(layout, {box_part({0}, {10}, 64), box_part({5}, {60}, 64)});
  EXPECT_EQ(window_transfer(overlapping, {0, 3840, 6400}, Direction::kRead, tuning), WindowTransfer::kWhole);
}

}  // namespace
}  // namespace swath
