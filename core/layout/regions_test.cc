#include "layout/regions.h"

#include <gtest/gtest.h>

#include <ctime>

#include "layout/layout.h"
#include "testing/naive.h"

namespace swath {
namespace {

using testing::Element;
using testing::Random;
using testing::ShareCase;

// Calls check(regions, list, random) for random shares of random arrays, with memory of any strides.
template <typename Check>
void for_random_regions(uint64_t seed, int cases, const Check& check) {
  Random random(seed);
  for (int i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(0, 5)));
    const int64_t element_bytes = random.one_of<int64_t>({1, 2, 3, 4, 8});
    const auto share = testing::random_share(random, testing::random_strided_file(random, shape, element_bytes), true);
    SCOPED_TRACE(share.text);
    const Layout layout = share.file.layout();
    const Regions regions = layout.regions(layout.panel(0), share.part);
    ASSERT_EQ(regions.count(), static_cast<int64_t>(share.list.size()));
    check(regions, share.list, random);
  }
}

// All ranges [first, last) if there are few elements, else some.
template <typename Check>
void for_ranges(int64_t count, Random& random, const Check& check) {
  if (count <= 12) {
    for (int64_t first = 0; first <= count; ++first) {
      for (int64_t last = first; last <= count; ++last) check(first, last);
    }
    return;
  }
  check(int64_t{0}, count);
  for (int i = 0; i < 40; ++i) {
    const int64_t first = random.between(0, count);
    check(first, random.between(first, count));
  }
}

int64_t count_runs(const std::vector<Element>& list, int64_t first, int64_t last, int64_t bytes, int64_t dense) {
  int64_t runs = 0;
  for (int64_t p = first; p < last; ++p) {
    const bool joins = p > first && list[p].offset == list[p - 1].offset + bytes && (dense == 0 || p % dense != 0);
    if (!joins) ++runs;
  }
  return runs;
}

TEST(Regions, ExampleOfTheHeader) {
  const Regions regions(100, 0, 1, {{IndexSet::range(0, 4), 6, 3}, {IndexSet::strided(0, 2, 3), 1, 1}});
  EXPECT_EQ(regions.count(), 12);
  EXPECT_EQ(regions.offset_of(4), 108);
  EXPECT_EQ(regions.begin_offset(), 100);
  EXPECT_EQ(regions.end_offset(), 123);
  EXPECT_EQ(regions.runs(), 12);
  EXPECT_EQ(regions.widest_hole(), 1);
  EXPECT_EQ(regions.product()->dense_positions(), 12);
}

TEST(Regions, EmptyAndSingleElement) {
  const Regions empty(100, 0, 8, {{IndexSet::range(0, 4), 8, 8}, {IndexSet(), 32, 32}});
  EXPECT_EQ(empty.bytes(), 0);
  EXPECT_EQ(empty.elements_before(INT64_MAX), 0);
  EXPECT_EQ(empty.runs(), 0);
  EXPECT_EQ(empty.widest_hole(), 0);
  EXPECT_EQ(Regions().bytes(), 0);
  const Regions one(100, 16, 8, {});
  EXPECT_EQ(one.elements_before(100), 0);
  EXPECT_EQ(one.elements_before(101), 1);
  EXPECT_EQ(one.runs(), 1);
  EXPECT_EQ(one.pieces(0, 1), 1);
  EXPECT_EQ(one.memory_of(0), 16);
  EXPECT_EQ(one.run_at(0, 1).bytes, 8);
}

TEST(Regions, PlacesInFileAndMemoryAreThoseOfTheList) {
  for_random_regions(21, 4000, [](const Regions& regions, const std::vector<Element>& list, Random&) {
    for (size_t p = 0; p < list.size(); ++p) {
      const auto position = static_cast<int64_t>(p);
      ASSERT_EQ((Element{regions.offset_of(position), regions.memory_of(position)}), list[p]) << "position " << p;
    }
    if (list.empty()) return;
    EXPECT_EQ(regions.begin_offset(), list.front().offset);
    EXPECT_EQ(regions.end_offset(), list.back().offset + regions.element_bytes());
  });
}

TEST(Regions, ElementsBeforeCountsFirstBytes) {
  for_random_regions(22, 2500, [](const Regions& regions, const std::vector<Element>& list, Random&) {
    const auto count = static_cast<int64_t>(list.size());
    for (int64_t p = 0; p < count; ++p) {
      const int64_t gap_end = p + 1 < count ? list[p + 1].offset : list[p].offset + 20;
      ASSERT_EQ(regions.elements_before(list[p].offset), p);
      for (int64_t offset = list[p].offset + 1; offset <= std::min(gap_end, list[p].offset + 40); ++offset) {
        ASSERT_EQ(regions.elements_before(offset), p + 1) << "offset " << offset;
      }
      ASSERT_EQ(regions.elements_before(gap_end), p + 1);
    }
    for (const int64_t offset : {INT64_MIN, int64_t{-1}, int64_t{0}}) ASSERT_EQ(regions.elements_before(offset), 0);
    ASSERT_EQ(regions.elements_before(INT64_MAX), count);
  });
}

TEST(Regions, LongestRunIsTheLongestOfAll) {
  for_random_regions(26, 4000, [](const Regions& regions, const std::vector<Element>& list, Random&) {
    const int64_t bytes = regions.element_bytes();
    int64_t longest = 0;
    int64_t run = 0;
    for (size_t p = 0; p < list.size(); ++p) {
      run = p > 0 && list[p].offset == list[p - 1].offset + bytes ? run + bytes : bytes;
      longest = std::max(longest, run);
    }
    EXPECT_EQ(regions.longest_run(), longest);
  });
}

// The last block of a row touches the first one of the next, after more runs than a loop could test.
TEST(Regions, LongestRunMayGoFromOneRowToTheNext) {
  const auto columns = [](int64_t n) { return IndexSet(0, 2, 1, 4, 0, n); };  // 0 1 | 4 5 | 8 9 | ...
  const int64_t n = 4'000'002;                                                // ... | 8'000'000 8'000'001
  EXPECT_EQ(Regions(0, 0, 8, {{IndexSet::range(0, 3), 64'000'016, 8 * n}, {columns(n), 8, 8}}).longest_run(), 32);
  EXPECT_EQ(Regions(0, 0, 8, {{IndexSet::range(0, 3), 64'000'024, 8 * n}, {columns(n), 8, 8}}).longest_run(), 16);
}

TEST(Regions, RunsAndPiecesOfEveryClippedRange) {
  for_random_regions(23, 2500, [](const Regions& regions, const std::vector<Element>& list, Random& random) {
    for_ranges(regions.count(), random, [&](int64_t first, int64_t last) {
      const int64_t bytes = regions.element_bytes();
      ASSERT_EQ(regions.runs(first, last), count_runs(list, first, last, bytes, 0)) << first << " to " << last;
      ASSERT_EQ(regions.pieces(first, last), count_runs(list, first, last, bytes, regions.product()->dense_positions()))
          << first << " to " << last;
    });
  });
}

TEST(Regions, RunAtIsMaximalAndCoversEveryRange) {
  for_random_regions(24, 2500, [](const Regions& regions, const std::vector<Element>& list, Random& random) {
    for_ranges(regions.count(), random, [&](int64_t first, int64_t last) {
      for (int64_t position = first; position < last;) {
        const swath::Run run = regions.run_at(position, last);
        ASSERT_EQ(run.position, position);
        ASSERT_EQ(run.offset, list[position].offset);
        int64_t end = position + 1;
        while (end < last && list[end].offset == list[end - 1].offset + regions.element_bytes()) ++end;
        ASSERT_EQ(run.bytes, (end - position) * regions.element_bytes()) << "at " << position << " before " << last;
        position = end;
      }
    });
  });
}

TEST(Regions, WidestHoleIsTheWidestOfTheList) {
  for_random_regions(25, 4000, [](const Regions& regions, const std::vector<Element>& list, Random&) {
    int64_t widest = 0;
    for (size_t p = 1; p < list.size(); ++p) {
      widest = std::max(widest, list[p].offset - list[p - 1].offset - regions.element_bytes());
    }
    EXPECT_EQ(regions.widest_hole(), widest);
  });
}

TEST(Regions, DensePositionsIsTheLargestProductOfFastDimensionsThatMemoryPacks) {
  for_random_regions(26, 4000, [](const Regions& regions, const std::vector<Element>& list, Random&) {
    if (list.empty()) return;
    const auto packs = [&](int64_t n) {
      for (size_t p = 1; p < list.size(); ++p) {
        const bool same_group = p % static_cast<size_t>(n) != 0;
        if (same_group && list[p].memory != list[p - 1].memory + regions.element_bytes()) return false;
      }
      return true;
    };
    int64_t product = 1;
    int64_t largest = 1;
    for (size_t d = regions.product()->dimensions().size(); d-- > 0;) {
      product *= regions.product()->dimensions()[d].indices.count();
      if (packs(product)) largest = product;
    }
    EXPECT_EQ(regions.product()->dense_positions(), largest);
  });
}

TEST(Regions, PackedKeepsFilePlacesAndPacksMemory) {
  for_random_regions(27, 1500, [](const Regions& regions, const std::vector<Element>& list, Random&) {
    const Regions packed = regions.packed(77);
    EXPECT_EQ(packed.product()->dense_positions(), packed.count());
    for (size_t p = 0; p < list.size(); ++p) {
      const auto position = static_cast<int64_t>(p);
      ASSERT_EQ(packed.offset_of(position), list[p].offset);
      ASSERT_EQ(packed.memory_of(position), 77 + position * regions.element_bytes());
    }
    EXPECT_EQ(packed.pieces(0, packed.count()), packed.runs());
  });
}

Regions share_of(const Shape& shape, const Distribution& distribution, int rank) {
  const Layout layout = Layout::strided(shape, 8, 0, testing::c_strides(shape, 8));
  return layout.regions(layout.panel(0), distributed_part(distribution, select_all(shape), rank, 8));
}

TEST(Regions, CyclicOfATrillionElementsIsInstantAndNoLarger) {
  const DimensionRule cyclic{DimensionRule::Kind::kCyclic, 1};
  const DimensionRule whole{DimensionRule::Kind::kWhole, 0};
  const std::clock_t start = std::clock();  // processor time: other programs may use the machine

  // A vector over 4 ranks: each quarter has one run per element, 32 bytes apart.
  const Regions vector = share_of({1'000'000'000'000}, Distribution({cyclic}, {4}), 1);
  EXPECT_EQ(vector.count(), 250'000'000'000);
  EXPECT_EQ(vector.runs(), 250'000'000'000);
  EXPECT_EQ(vector.widest_hole(), 24);
  EXPECT_EQ(vector.end_offset(), 8 * (1'000'000'000'000 - 2));
  EXPECT_EQ(vector.elements_before(4'000'000'000'000), 125'000'000'000);
  EXPECT_EQ(vector.runs(10, 250'000'000'000 - 10), 250'000'000'000 - 20);
  EXPECT_EQ(vector.run_at(125'000'000'000, vector.count()).offset, 8 * (4 * 125'000'000'000 + 1));

  // (10^6, 10^6), columns cyclic: 250,000 runs in each of 10^6 rows, and none joins the next row.
  const Regions columns = share_of({1'000'000, 1'000'000}, Distribution({whole, cyclic}, {1, 4}), 3);
  EXPECT_EQ(columns.runs(), 250'000'000'000);
  // Rows cyclic: whole rows, one run each.
  EXPECT_EQ(share_of({1'000'000, 1'000'000}, Distribution({cyclic, whole}, {4, 1}), 0).runs(), 250'000);
  // Both cyclic over 2 x 2: 500,000 rows of 500,000 runs.
  EXPECT_EQ(share_of({1'000'000, 1'000'000}, Distribution({cyclic, cyclic}, {2, 2}), 3).runs(), 250'000'000'000);
  // 10^6 + 1 columns over 4: rank 0 owns the last column too, which touches column 0 of the next row:
  // 10^6 * 250,001 elements - 999,999 joins.
  EXPECT_EQ(share_of({1'000'000, 1'000'001}, Distribution({whole, cyclic}, {1, 4}), 0).runs(), 250'000'000'001);

  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 10);
  const Regions small = share_of({10, 10}, Distribution({whole, cyclic}, {1, 4}), 0);
  EXPECT_EQ(columns.product()->dimensions().size(), small.product()->dimensions().size());
  EXPECT_LE(sizeof(IndexSet), 48u);  // numbers only: nothing in it can grow with the elements
}

TEST(Regions, DirectRequestsAreThoseOfTable1) {
  // An N x N array in column-major order over P processors: R_dist requests in total, each of S_dist elements.
  const DimensionRule whole{DimensionRule::Kind::kWhole, 0};
  const DimensionRule block{DimensionRule::Kind::kBlock, 0};
  const DimensionRule cyclic{DimensionRule::Kind::kCyclic, 1};
  for (const auto& [n, root] : std::vector<std::pair<int64_t, int64_t>>{{16, 2}, {36, 3}, {1'048'576, 32}}) {
    const int64_t p = root * root;
    struct Row {
      const char* name;
      Distribution distribution;
      int64_t requests;
      int64_t size;
    };
    const Row table[] = {
        {"Column-Block", Distribution({whole, block}, {1, p}), p, n * n / p},
        {"Column-Cyclic", Distribution({whole, cyclic}, {1, p}), n, n},
        {"Row-Block", Distribution({block, whole}, {p, 1}), n * p, n / p},
        {"Row-Cyclic", Distribution({cyclic, whole}, {p, 1}), n * n, 1},
        {"Block-Block", Distribution({block, block}, {root, root}), n * root, n / root},
        {"Block-Cyclic", Distribution({block, cyclic}, {root, root}), n * root, n / root},
        {"Cyclic-Block", Distribution({cyclic, block}, {root, root}), n * n, 1},
        {"Cyclic-Cyclic", Distribution({cyclic, cyclic}, {root, root}), n * n, 1},
    };
    const Layout layout = Layout::ordered({n, n}, 8, 0, {1, 0});
    for (const auto& row : table) {
      int64_t requests = 0;
      for (int rank = 0; rank < p; ++rank) {
        const Part part = distributed_part(row.distribution, select_all({n, n}), rank, 8);
        const Regions regions = layout.regions(layout.panel(0), part);
        requests += regions.runs();
        EXPECT_EQ(regions.run_at(0, regions.count()).bytes, 8 * row.size) << row.name << " N " << n << " rank " << rank;
      }
      EXPECT_EQ(requests, row.requests) << row.name << " N " << n << " P " << p;
    }
  }
}

}  // namespace
}  // namespace swath
