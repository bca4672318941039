#include "layout/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/math.h"
#include "testing/naive.h"

namespace swath {
namespace {

using testing::Random;

template <typename Action>
std::string error_of(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Layout, NamesItsOrder) {
  EXPECT_EQ(Layout::ordered({3, 4}, 8, 128, {0, 1}).to_string(), "C order at offset 128");
  EXPECT_EQ(Layout::ordered({3, 4}, 8, 0, {1, 0}).to_string(), "F order at offset 0");
  EXPECT_EQ(Layout::ordered({3, 4, 5}, 8, 0, {1, 0, 2}).to_string(), "order (1, 0, 2) at offset 0");
  EXPECT_EQ(Layout::strided({3, 4}, 8, 16, {100, 8}).to_string(), "records of 100 bytes at offset 16");
  EXPECT_EQ(Layout::chunked({3, 4}, 8, {2, 4}, {0, 64}).to_string(), "chunks of (2, 4), 2 in the file");
  EXPECT_EQ(Layout::chunked({3, 4}, 8, {2, 4}, {0, -1}).to_string(),
            "chunks of (2, 4), 1 in the file, 1 not allocated");
  EXPECT_EQ(Layout::ordered({}, 8, 5, {}).to_string(), "C order at offset 5");
}

TEST(Layout, OrderedPlacesTheSlowestDimensionFirst) {
  EXPECT_EQ(Layout::ordered({3, 4, 5}, 8, 0, {2, 0, 1}).panel(0).strides, (std::vector<int64_t>{32, 8, 96}));
}

TEST(Layout, RefusesElementsThatWouldOverlap) {
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::strided({3, 4}, 8, 0, {31, 8}); }),
            "layout: dimension 0 has a stride of 31 bytes, but the faster dimensions fill 32: elements would overlap");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::strided({4}, 8, 0, {7}); }),
            "layout: dimension 0 has a stride of 7 bytes, but the faster dimensions fill 8: elements would overlap");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::strided({2, 2}, 8, 0, {8, 8}); }),
            "layout: dimension 0 has a stride of 8 bytes, but the faster dimensions fill 16: elements would overlap");
  EXPECT_NO_THROW(Layout::strided({3, 1}, 8, 0, {8, 0}));   // the stride of a single index is never used
  EXPECT_NO_THROW(Layout::strided({3, 0}, 8, 0, {1, -5}));  // no stride is used if nothing is stored
  EXPECT_NO_THROW(Layout::strided({}, 8, 0, {}));
}

TEST(Layout, RefusesArgumentsThatMakeNoSense) {
  EXPECT_EQ(error_of(ErrorKind::kArgument, [] { Layout::strided({4}, 0, 0, {1}); }), "layout: an element of 0 bytes");
  EXPECT_EQ(error_of(ErrorKind::kArgument, [] { Layout::strided({4}, 1, 0, {1, 1}); }),
            "layout: one stride a dimension is needed");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::strided({4}, 1, -3, {1}); }),
            "layout: the data would start at offset -3");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::strided({4, -2}, 1, 0, {1, 1}); }),
            "layout: dimension 1 has an extent of -2");
  for (const std::vector<int>& order : std::vector<std::vector<int>>{{0}, {0, 0}, {0, 2}, {0, 1, 2}}) {
    EXPECT_EQ(error_of(ErrorKind::kArgument, [&] { Layout::ordered({3, 4}, 8, 0, order); }),
              "layout: the order must name each of the 2 dimensions once, slowest first");
  }
}

TEST(Layout, RefusesWhatEndsBeyond64Bits) {
  const int64_t large = int64_t{1} << 40;
  const std::string dimension_0 = "layout: dimension 0 ends beyond 2^63 bytes";
  EXPECT_EQ(error_of(ErrorKind::kFormat, [&] { Layout::ordered({large, large}, 8, 0, {0, 1}); }), dimension_0);
  EXPECT_EQ(error_of(ErrorKind::kFormat, [&] { Layout::ordered({large, large, large}, 8, 0, {2, 1, 0}); }),
            "layout: dimension 1 ends beyond 2^63 bytes");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [&] { Layout::strided({3}, 8, 0, {INT64_MAX / 2}); }), dimension_0);
  EXPECT_EQ(error_of(ErrorKind::kFormat, [&] { Layout::strided({3}, 8, INT64_MAX - 20, {8}); }),
            "layout: data at offset 9223372036854775787 ends beyond 2^63 bytes");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [&] { Layout::chunked({1}, 8, {large * 4'000'000}, {0}); }), dimension_0);
  EXPECT_EQ(error_of(ErrorKind::kFormat, [&] { Layout::chunked({large, large}, 8, {1, 1}, {0}); }),
            "layout: more than 2^63 chunks");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [&] { Layout::chunked({4}, 8, {2}, {0, INT64_MAX - 10}); }),
            "layout: a chunk at offset 9223372036854775797 ends beyond 2^63 bytes");
}

TEST(Layout, RefusesChunkTablesThatCannotBe) {
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::chunked({4, 4}, 1, {2}, {0}); }),
            "layout: one chunk extent a dimension is needed");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::chunked({4}, 1, {0}, {0}); }), "layout: a chunk extent of 0");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::chunked({5, 4}, 1, {2, 2}, {0, 4, 8, 12, 16}); }),
            "layout: 5 chunk offsets for 6 chunks");
  EXPECT_EQ(error_of(ErrorKind::kFormat, [] { Layout::chunked({4}, 8, {2}, {20, 5}); }),
            "layout: two chunks overlap in the file, at offsets 5 and 20, each of 16 bytes");
  EXPECT_EQ(error_of(ErrorKind::kArgument, [] { Layout::chunked({4}, 0, {2}, {0, 8}); }),
            "layout: an element of 0 bytes");
}

TEST(Layout, ChunksCoverTheArrayOnceAndComeInFileOrder) {
  Random random(31);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(1, 4)));
    const auto file = testing::random_chunked_file(random, shape, 4, random.one_of({0, 30, 100}));
    SCOPED_TRACE(file.text());
    const Layout layout = file.layout();
    std::vector<Panel> panels = layout.absent_panels();
    EXPECT_EQ(layout.has_absent_chunks(), !panels.empty());
    for (const auto& panel : panels) EXPECT_LT(panel.offset, 0);
    int64_t previous = -1;
    for (int64_t p = 0; p < layout.panel_count(); ++p) {
      panels.push_back(layout.panel(p));
      EXPECT_GT(panels.back().offset, previous);
      previous = panels.back().offset;
    }
    EXPECT_EQ(panels.size(), file.chunk_offsets.size());
    int64_t elements = 0;
    std::set<Shape> corners;
    for (const auto& panel : panels) {
      int64_t inside = 1;
      for (size_t d = 0; d < shape.size(); ++d) {
        ASSERT_LT(panel.begin[d], panel.end[d]);
        ASSERT_LE(panel.end[d], shape[d]);
        ASSERT_LE(panel.end[d] - panel.begin[d], file.chunk_shape[d]);
        inside *= panel.end[d] - panel.begin[d];
      }
      elements += inside;
      corners.insert(panel.begin);
      const auto chunk = static_cast<size_t>(file.chunk_of(panel.begin));
      ASSERT_EQ(panel.offset, file.chunk_offsets[chunk]);
    }
    EXPECT_EQ(corners.size(), panels.size());
    EXPECT_EQ(elements, element_count(shape));
  }
}

TEST(Layout, ArrayOfNoDimensionsHasOneChunk) {
  const Layout layout = Layout::chunked({}, 8, {}, {40});
  EXPECT_TRUE(layout.is_chunked());
  EXPECT_EQ(layout.panel_count(), 1);
  const Regions regions = layout.regions(layout.panel(0), selected_part({}, 8));
  EXPECT_EQ(regions.count(), 1);
  EXPECT_EQ(regions.begin_offset(), 40);
  const Layout absent = Layout::chunked({}, 8, {}, {-1});
  EXPECT_EQ(absent.panel_count(), 0);
  EXPECT_EQ(absent.absent_panels().size(), 1u);
  EXPECT_THROW(Layout::chunked({}, 8, {}, {}), Error);
}

TEST(Layout, PanelsInAreThoseThatMayHoldTheBytes) {
  Random random(32);
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(1, 3)));
    const auto file = testing::random_chunked_file(random, shape, 2, 20);
    const Layout layout = file.layout();
    for (int j = 0; j < 20; ++j) {
      const int64_t begin = random.between(0, 400);
      const int64_t end = random.chance(20) ? INT64_MAX : random.between(begin, 500);
      const auto [first, last] = layout.panels_in(begin, end);
      ASSERT_LE(first, last);
      for (int64_t p = 0; p < layout.panel_count(); ++p) {
        const int64_t offset = layout.panel(p).offset;
        const bool touches = offset < end && offset + layout.chunk_bytes() > begin;
        ASSERT_EQ(p >= first && p < last, touches) << file.text() << " [" << begin << ", " << end << ")";
      }
    }
  }
}

TEST(Layout, TilesAreChunksOneBehindTheOtherWithoutATable) {
  Random random(34);
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(0, 4)));
    Shape chunk_shape;
    int64_t chunks = 1;
    for (const int64_t extent : shape) {
      chunk_shape.push_back(random.between(1, 5));
      chunks *= ceil_div(extent, chunk_shape.back());
    }
    const int64_t offset = random.between(0, 50);
    const Layout tiled = Layout::tiled(shape, 4, chunk_shape, offset);
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < chunks; ++c) offsets.push_back(offset + c * tiled.chunk_bytes());
    const Layout chunked = Layout::chunked(shape, 4, chunk_shape, offsets);
    ASSERT_EQ(tiled.panel_count(), chunked.panel_count());
    EXPECT_EQ(tiled.to_string(), chunked.to_string());
    EXPECT_FALSE(tiled.has_absent_chunks());
    EXPECT_TRUE(tiled.absent_panels().empty());
    for (int64_t p = 0; p < tiled.panel_count(); ++p) {
      EXPECT_EQ(tiled.panel(p).offset, chunked.panel(p).offset);
      EXPECT_EQ(tiled.panel(p).begin, chunked.panel(p).begin);
      EXPECT_EQ(tiled.panel(p).end, chunked.panel(p).end);
      EXPECT_EQ(tiled.panel(p).strides, chunked.panel(p).strides);
    }
    for (int query = 0; query < 20; ++query) {
      const int64_t begin = random.between(0, 400);
      const int64_t end = random.chance(20) ? INT64_MAX : random.between(begin, 500);
      EXPECT_EQ(tiled.panels_in(begin, end), chunked.panels_in(begin, end)) << begin << " " << end;
    }
  }
}

TEST(Layout, RefusesTilesThatEndBeyond64Bits) {
  EXPECT_NE(error_of(ErrorKind::kFormat, [] { Layout::tiled({INT64_MAX / 2}, 8, {1}, 0); }), "no error");
  EXPECT_NE(error_of(ErrorKind::kFormat, [] { Layout::tiled({4}, 8, {2}, INT64_MAX - 10); }), "no error");
  EXPECT_NE(error_of(ErrorKind::kFormat, [] { Layout::tiled({4}, 8, {2}, -1); }), "no error");
  EXPECT_NE(error_of(ErrorKind::kFormat, [] { Layout::tiled({4}, 8, {0}, 0); }), "no error");
}

TEST(Layout, TheLastChunkEndsWhereTheLongestArrayDoes) {
  const Shape shape{INT64_MAX};
  const Shape chunk_shape{4096};
  const Part last = selected_part({{INT64_MAX - 1, -2, 2, false}}, 8);
  const std::vector<int64_t> chunks = chunks_of(shape, chunk_shape, last);
  ASSERT_EQ(chunks, (std::vector<int64_t>{INT64_MAX / 4096}));
  Panel panel = chunk_at(shape, chunk_shape, chunks[0]);
  EXPECT_EQ(panel.begin, (Shape{INT64_MAX - 4095}));
  EXPECT_EQ(panel.end, shape);
  panel.strides = {8};
  const Regions regions = regions_in(panel, last, 8);
  EXPECT_EQ(regions.offset_of(0), 4092 * 8);
  EXPECT_EQ(regions.offset_of(1), 4094 * 8);
  EXPECT_EQ(regions.elements_before(int64_t{4093} * 8), 1);
}

TEST(Layout, RegionsOfAChunkAreItsElementsWithTheMemoryPlacesOfThePart) {
  Random random(33);
  for (int i = 0; i < 1500 && !HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(1, 5)));
    const int64_t element_bytes = random.one_of<int64_t>({1, 3, 8});
    const auto share = testing::random_share(
        random, testing::random_chunked_file(random, shape, element_bytes, random.one_of({0, 25})), true);
    SCOPED_TRACE(share.text);
    const Layout layout = share.file.layout();
    std::vector<testing::Element> found;
    for (int64_t p = 0; p < layout.panel_count(); ++p) {
      const Regions regions = layout.regions(layout.panel(p), share.part);
      for (int64_t k = 0; k < regions.count(); ++k) found.push_back({regions.offset_of(k), regions.memory_of(k)});
      ASSERT_EQ(regions.elements_before(INT64_MAX), regions.count());
    }
    ASSERT_EQ(found, share.list);
  }
}

TEST(ChunkRuns, AreTheChunksThatHoldIndices) {
  Random random(26);
  for (int i = 0; i < 3000; ++i) {
    const int64_t extent = random.between(1, 60);
    const int64_t chunk = random.between(1, 9);
    const int64_t block = random.between(1, 5);
    const int64_t step = random.between(1, 4);
    const int64_t period = (block - 1) * step + random.between(1, 12);
    const IndexSet all(random.between(0, 5), block, step, period, random.between(0, 4), 60);
    const IndexSet indices = all.clip(random.between(0, extent), extent);
    std::vector<int64_t> expected;
    for (int64_t p = 0; p < indices.count(); ++p) {
      const int64_t holds = indices.at(p) / chunk;
      if (expected.empty() || expected.back() != holds) expected.push_back(holds);
    }
    std::vector<int64_t> chunks;
    int64_t last_end = -1;
    for (const ChunkRun& run : chunk_runs(indices, extent, chunk)) {
      EXPECT_GT(run.begin, last_end) << "runs are as long as can be";
      last_end = run.end;
      for (int64_t c = run.begin; c < run.end; ++c) chunks.push_back(c);
    }
    ASSERT_EQ(chunks, expected);
  }
}

}  // namespace
}  // namespace swath
