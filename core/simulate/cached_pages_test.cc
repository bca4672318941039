#include "simulate/cached_pages.h"

#include <gtest/gtest.h>

namespace swath::simulate {
namespace {

constexpr int64_t kPage = CachedPages::kPageBytes;
constexpr int64_t kFile = 100 * kPage;
using Extents = std::vector<Extent>;

TEST(CachedPages, ReadAloneReadsItsPages) {
  CachedPages pages(false);
  EXPECT_EQ(pages.read({10 * kPage + 5, kPage}, 0, kFile), (Extents{{10 * kPage, 2 * kPage}}));
  EXPECT_EQ(pages.read({10 * kPage, 8}, 0, kFile), Extents{});
  EXPECT_EQ(pages.read({50 * kPage, 1}, 12 * kPage, kFile), (Extents{{50 * kPage, kPage}}));
  EXPECT_EQ(pages.read({0, 0}, 0, kFile), Extents{});
}

TEST(CachedPages, ReadsOneAfterTheOtherAreReadAhead) {
  CachedPages pages(false);
  pages.read({10 * kPage, 8}, 0, kFile);
  EXPECT_EQ(pages.read({11 * kPage, 8}, 10 * kPage + 8, kFile), (Extents{{11 * kPage, CachedPages::kAheadBytes}}));
  EXPECT_EQ(pages.read({42 * kPage, 8}, 11 * kPage + 8, kFile), Extents{});
  // The file ends.
  CachedPages end(false);
  end.read({95 * kPage, 8}, 0, kFile);
  EXPECT_EQ(end.read({96 * kPage, 8}, 95 * kPage + 8, kFile), (Extents{{96 * kPage, 4 * kPage}}));
  // The begin of a file is read ahead, too.
  EXPECT_EQ(CachedPages(false).read({0, 8}, 0, kFile), (Extents{{0, CachedPages::kAheadBytes}}));
}

TEST(CachedPages, WritesReadPagesThatTheyChangeInPart) {
  CachedPages pages(false);
  EXPECT_EQ(pages.write({kPage, kPage}, kFile), Extents{});
  EXPECT_EQ(pages.write({2 * kPage + 1, 2 * kPage}, kFile), (Extents{{2 * kPage, kPage}, {4 * kPage, kPage}}));
  EXPECT_EQ(pages.write({2 * kPage, 8}, kFile), Extents{});
  EXPECT_EQ(pages.write({kFile + 8, 8}, kFile), Extents{});  // behind the end nothing is stored
  EXPECT_EQ(pages.write({kFile - kPage, kPage - 8}, kFile - 8), Extents{});
  EXPECT_EQ(pages.clean(), (Extents{{kPage, 4 * kPage}, {kFile - kPage, 2 * kPage}}));
  EXPECT_EQ(pages.clean(), Extents{});
  EXPECT_EQ(pages.read({kPage, kPage}, 0, kFile), Extents{});
}

TEST(CachedPages, PartIsOfTheRange) {
  CachedPages pages(false);
  pages.write({0, 4 * kPage}, kFile);
  EXPECT_EQ(pages.part({0, 4 * kPage}), 1);
  EXPECT_EQ(pages.part({0, 8 * kPage}), 0.5);
  EXPECT_EQ(pages.part({50 * kPage, 1}), 0);
  EXPECT_EQ(pages.part({0, 4096 * kPage}), 1.0 / 1024);
  EXPECT_EQ(CachedPages(true).part({0, 8 * kPage}), 1);
  EXPECT_EQ(CachedPages(true).read({0, 8 * kPage}, 0, kFile), Extents{});
}

}  // namespace
}  // namespace swath::simulate
