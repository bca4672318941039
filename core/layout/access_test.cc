#include "layout/access.h"

#include <gtest/gtest.h>

#include "testing/naive.h"

namespace swath {
namespace {

using testing::Element;
using testing::Random;

struct ElementPosition {
  int64_t offset;
  int64_t memory;
  size_t part;
  int64_t panel;
};

// Several disjoint boxes, or the share of one rank: the layout, the request, and the plain list in the order of visits:
// by panel, part, offset.
struct AccessCase {
  testing::FilePositions file;
  std::vector<Part> parts;
  std::vector<ElementPosition> list;
  std::string text;
};

int64_t panel_of(const testing::FilePositions& file, int64_t offset) {
  if (file.chunk_shape.empty()) return 0;
  std::vector<int64_t> starts;
  for (const int64_t start : file.chunk_offsets) {
    if (start >= 0) starts.push_back(start);
  }
  std::sort(starts.begin(), starts.end());
  return std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin() - 1;
}

// Cuts the first dimension into slabs and takes a box from some of them: disjoint boxes with gaps.
std::vector<std::pair<Shape, Shape>> random_boxes(Random& random, const Shape& shape) {
  std::vector<std::pair<Shape, Shape>> boxes;
  for (int64_t row = 0; row < shape[0];) {
    const int64_t rows = random.between(1, shape[0] - row);
    Shape begin(shape.size()), end(shape.size());
    begin[0] = row;
    end[0] = row + rows;
    for (size_t d = 1; d < shape.size(); ++d) {
      begin[d] = random.between(0, shape[d]);
      end[d] = random.between(begin[d], shape[d]);
    }
    if (random.chance(70)) boxes.emplace_back(begin, end);
    row += rows;
  }
  if (random.chance(50)) std::reverse(boxes.begin(), boxes.end());
  return boxes;
}

AccessCase random_case(Random& random) {
  AccessCase result;
  const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(1, 4)));
  const int64_t element_bytes = random.one_of<int64_t>({1, 2, 3, 8});
  auto file = random.chance(50) ? testing::random_strided_file(random, shape, element_bytes)
                                : testing::random_chunked_file(random, shape, element_bytes, random.one_of({0, 0, 30}));
  std::vector<std::vector<Element>> lists;
  if (random.chance(50)) {
    const auto share = testing::random_share(random, file, false);
    result.parts = {share.part};
    lists = {share.list};
    result.text = share.text;
  } else {
    result.text = file.text();
    for (const auto& [begin, end] : random_boxes(random, shape)) {
      result.parts.push_back(box_part(begin, end, element_bytes));
      Selection selection;
      std::vector<std::vector<int64_t>> positions;
      Shape extents;
      for (size_t d = 0; d < shape.size(); ++d) {
        selection.push_back({begin[d], 1, end[d] - begin[d], false});
        extents.push_back(end[d] - begin[d]);
        positions.emplace_back(static_cast<size_t>(extents[d]));
        std::iota(positions[d].begin(), positions[d].end(), 0);
      }
      auto list = testing::elements(file, selection, positions, testing::c_strides(extents, element_bytes));
      std::erase_if(list, [](const Element& element) { return element.offset < 0; });
      testing::sort_by_offset(list);
      lists.push_back(list);
      result.text += " box " + testing::text_of(begin) + testing::text_of(end);
    }
  }
  for (size_t part = 0; part < lists.size(); ++part) {
    for (const auto& element : lists[part]) {
      result.list.push_back({element.offset, element.memory, part, panel_of(file, element.offset)});
    }
  }
  std::stable_sort(result.list.begin(), result.list.end(),
                   [](const auto& a, const auto& b) { return a.panel < b.panel; });
  result.file = std::move(file);
  return result;
}

template <typename Check>
void for_random_accesses(uint64_t seed, const Check& check) {
  Random random(seed);
  for (int i = 0; i < 2500 && !::testing::Test::HasFailure(); ++i) {
    const AccessCase given = random_case(random);
    SCOPED_TRACE(given.text);
    const Layout layout = given.file.layout();
    const Access access(layout, given.parts);
    ASSERT_EQ(access.bytes(), static_cast<int64_t>(given.list.size()) * given.file.element_bytes);
    check(access, given, random);
  }
}

std::pair<int64_t, int64_t> random_range(Random& random) {
  if (random.chance(10)) return {0, INT64_MAX};
  const int64_t begin = random.between(0, 500);
  return {begin, begin + random.between(0, 300)};
}

TEST(Access, VisitsPanelByPanelAndPartByPart) {
  for_random_accesses(41, [](const Access& access, const AccessCase& given, Random& random) {
    const auto [begin, end] = random_range(random);
    size_t next = 0;
    const auto skip = [&, b = begin, e = end] {
      while (next < given.list.size() && (given.list[next].offset < b || given.list[next].offset >= e)) ++next;
    };
    access.visit(begin, end, [&](const Slice& slice) {
      ASSERT_LT(slice.first, slice.last);
      for (int64_t p = slice.first; p < slice.last; ++p, ++next) {
        skip();
        ASSERT_LT(next, given.list.size());
        ASSERT_EQ(slice.part, given.list[next].part);
        ASSERT_EQ(slice.regions.offset_of(p), given.list[next].offset);
        ASSERT_EQ(slice.regions.memory_of(p), given.list[next].memory);
      }
    });
    skip();
    EXPECT_EQ(next, given.list.size());
  });
}

TEST(Access, BytesAndRunsOfAnyRangeOfTheFile) {
  for_random_accesses(42, [](const Access& access, const AccessCase& given, Random& random) {
    const int64_t element_bytes = given.file.element_bytes;
    for (int i = 0; i < 8; ++i) {
      const auto [begin, end] = random_range(random);
      int64_t bytes = 0;
      int64_t runs = 0;
      const ElementPosition* previous = nullptr;
      for (const auto& element : given.list) {
        if (element.offset < begin || element.offset >= end) continue;
        bytes += element_bytes;
        const bool joins = previous != nullptr && previous->part == element.part && previous->panel == element.panel &&
                           previous->offset + element_bytes == element.offset;
        if (!joins) ++runs;
        previous = &element;
      }
      ASSERT_EQ(access.bytes_in(begin, end), bytes) << begin << " to " << end;
      ASSERT_EQ(access.runs_in(begin, end), runs) << begin << " to " << end;
    }
  });
}

TEST(Access, NextStartAndLastEndFindTheNeighbours) {
  for_random_accesses(43, [](const Access& access, const AccessCase& given, Random& random) {
    for (int i = 0; i < 12; ++i) {
      const int64_t cursor = i == 0 ? 0 : i == 1 ? 1'000'000 : random.between(0, 600);
      std::optional<int64_t> start;
      std::optional<int64_t> end;
      for (const auto& element : given.list) {
        if (element.offset >= cursor && (!start || element.offset < *start)) start = element.offset;
        if (element.offset < cursor) end = std::max(end.value_or(0), element.offset + given.file.element_bytes);
      }
      ASSERT_EQ(access.next_start(cursor), start) << cursor;
      ASSERT_EQ(access.last_end(cursor), end) << cursor;
    }
  });
}

TEST(Access, WindowsAreDisjointAlignedAndCoverEveryElement) {
  for_random_accesses(44, [](const Access& access, const AccessCase& given, Random& random) {
    const int64_t window_bytes = random.one_of<int64_t>({1, 7, 16, 64, 1000});
    const auto [begin, end] = random_range(random);
    int64_t expected = 0;
    for (const auto& element : given.list) {
      if (element.offset >= begin && element.offset < end) expected += given.file.element_bytes;
    }
    int64_t covered = 0;
    int64_t cursor = begin;
    int64_t previous_end = 0;
    while (const auto window = access.next_window(cursor, end, window_bytes)) {
      ASSERT_GE(window->begin, cursor);
      ASSERT_GE(window->begin, previous_end);
      ASSERT_LT(window->begin, window->limit);
      ASSERT_EQ(window->begin, *access.next_start(cursor));
      ASSERT_TRUE(window->limit == end || window->limit % window_bytes == 0);
      ASSERT_EQ(window->begin / window_bytes, (window->limit - 1) / window_bytes);
      ASSERT_LT(window->end - window->limit, given.file.element_bytes);
      ASSERT_EQ(window->end, *access.last_end(window->limit));
      covered += access.bytes_in(window->begin, window->limit);
      previous_end = window->end;
      cursor = window->limit;
    }
    EXPECT_EQ(covered, expected) << begin << " to " << end << " by " << window_bytes;
  });
}

TEST(Access, ExampleOfTheHeader) {
  // Elements of 8 bytes at 60, 92 and 250.
  const Layout layout = Layout::strided({200}, 1, 60, {1});
  const auto eight_at = [](int64_t offset) { return box_part({offset - 60}, {offset - 52}, 1); };
  const Layout wide = Layout::chunked({3}, 8, {1}, {60, 92, 250});
  const Access access(wide, {box_part({0}, {3}, 8)});
  const auto first = access.next_window(0, 1000, 100);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin, 60);
  EXPECT_EQ(first->end, 100);
  EXPECT_EQ(first->limit, 100);
  const auto second = access.next_window(first->limit, 1000, 100);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->begin, 250);
  EXPECT_EQ(second->end, 258);
  EXPECT_EQ(second->limit, 300);
  EXPECT_FALSE(access.next_window(second->limit, 1000, 100));
  EXPECT_EQ(Access(layout, {eight_at(60), eight_at(250)}).runs(), 2);
}

TEST(Access, NothingAskedForIsNoWork) {
  const Layout layout = Layout::ordered({4, 4}, 8, 0, {0, 1});
  const Access access(layout, {});
  EXPECT_TRUE(access.empty());
  EXPECT_FALSE(access.next_start(0));
  EXPECT_FALSE(access.last_end(INT64_MAX));
  EXPECT_FALSE(access.next_window(0, INT64_MAX, 10));
  EXPECT_EQ(access.runs(), 0);
}

TEST(Access, RankBeyondTheGridOfAScalarHasNothing) {
  const Layout layout = Layout::strided({}, 8, 40, {});
  const Distribution of_scalar({}, {});
  const Access owner(layout, {distributed_part(of_scalar, {}, 0, 8)});
  EXPECT_EQ(owner.bytes(), 8);
  EXPECT_EQ(owner.next_start(0), 40);
  EXPECT_TRUE(Access(layout, {distributed_part(of_scalar, {}, 1, 8)}).empty());
}

TEST(Access, OnlyRegionsAreThoseOfOneProduct) {
  const Layout layout = Layout::ordered({10}, 8, 100, {0});
  const Part even = distributed_part(Distribution({{DimensionRule::Kind::kCyclic, 1}}, {2}), select_all({10}), 0, 8);
  EXPECT_EQ(Access(layout, {even}).only_regions()->offset_of(3), 148);
  EXPECT_EQ(Access(layout, {even, even}).only_regions(), nullptr);
  const Layout chunks = Layout::chunked({10}, 8, {5}, {0, 40});
  EXPECT_EQ(Access(chunks, {even}).only_regions(), nullptr);
}

}  // namespace
}  // namespace swath
