#include "layout/as_view.h"

#include <gtest/gtest.h>

#include "layout/layout.h"

namespace swath {
namespace {

TEST(AsView, HasTheSameBytesInFileAndMemory) {
  const IndexSet sets[] = {IndexSet::range(0, 7), IndexSet::strided(1, 3, 5), IndexSet(2, 2, 1, 6, 0, 5),
                           IndexSet(1, 3, 2, 9, 2, 8), IndexSet::range(3, 4)};
  for (const IndexSet& slow : sets) {
    for (const IndexSet& fast : sets) {
      for (const int64_t memory_stride : {int64_t{4}, int64_t{-20}, int64_t{400}}) {
        const Regions regions(100, 5000, 4, {{slow, 400, memory_stride == 400 ? 4 : 400}, {fast, 4, memory_stride}});
        const ViewRegions view = as_view(regions);
        ASSERT_EQ(view.count(), regions.bytes());
        for (int64_t p = 0; p < regions.count(); ++p) {
          for (int64_t byte = 0; byte < 4; ++byte) {
            ASSERT_EQ(view.offset_of(4 * p + byte), regions.offset_of(p) + byte);
            ASSERT_EQ(view.memory_of(4 * p + byte), regions.memory_of(p) + byte);
          }
        }
        ASSERT_TRUE(view.file().nest.is_ascending());
      }
    }
  }
  EXPECT_EQ(as_view(Regions(0, 0, 8, {{IndexSet(), 8, 8}})).count(), 0);
}

}  // namespace
}  // namespace swath
