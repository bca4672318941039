// The page cache of simulated servers, beside a model that searches a list.
#include "simulate/page_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <random>
#include <vector>

namespace swath::simulate {
namespace {

constexpr int64_t kBlock = PageCache::kBlockBytes;

// The same by a list of blocks, the most recently used first.
class NaiveCache {
 public:
  explicit NaiveCache(int64_t bytes) : capacity_(std::max<int64_t>(bytes / kBlock, 1)) {}

  void read(const Extent& range, PageCache::Access& access) {
    for (const int64_t number : numbers_of(range)) {
      if (!use(number, false, access)) {
        add(access.missing, number);
        continue;
      }
      const int64_t begin = std::max(range.offset, number * kBlock);
      access.hit_bytes += std::min(range.offset + range.bytes, (number + 1) * kBlock) - begin;
    }
  }
  void write(const Extent& range, PageCache::Access& access) {
    for (const int64_t number : numbers_of(range)) use(number, true, access);
  }
  std::vector<Extent> clean(int64_t bytes_left) {
    std::vector<int64_t> numbers;
    for (auto block = blocks_.rbegin(); block != blocks_.rend() && dirty_bytes() > bytes_left; ++block) {
      if (block->is_dirty) numbers.push_back(block->number);
      block->is_dirty = false;
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<Extent> cleaned;
    for (const int64_t number : numbers) add(cleaned, number);
    return cleaned;
  }
  int64_t dirty_bytes() const {
    return kBlock * std::count_if(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.is_dirty; });
  }

 private:
  struct Block {
    int64_t number;
    bool is_dirty;
  };

  static std::vector<int64_t> numbers_of(const Extent& range) {
    std::vector<int64_t> numbers;
    for (int64_t number = 0; number * kBlock < range.offset + range.bytes; ++number) {
      if ((number + 1) * kBlock > range.offset) numbers.push_back(number);
    }
    return numbers;
  }

  static void add(std::vector<Extent>& extents, int64_t number) {
    if (!extents.empty() && extents.back().offset + extents.back().bytes == number * kBlock) {
      extents.back().bytes += kBlock;
    } else {
      extents.push_back({number * kBlock, kBlock});
    }
  }

  bool use(int64_t number, bool makes_dirty, PageCache::Access& access) {
    const auto found =
        std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.number == number; });
    const bool was_there = found != blocks_.end();
    Block block{number, makes_dirty};
    if (was_there) {
      block.is_dirty = block.is_dirty || found->is_dirty;
      blocks_.erase(found);
    } else if (std::ssize(blocks_) == capacity_) {
      if (blocks_.back().is_dirty) add(access.evicted, blocks_.back().number);
      blocks_.pop_back();
    }
    blocks_.push_front(block);
    return was_there;
  }

  const int64_t capacity_;
  std::list<Block> blocks_;
};

TEST(PageCache, DoesWhatTheNaiveModelDoes) {
  std::mt19937_64 random(3);
  const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  int64_t evicted = 0, hits = 0, cleaned = 0;
  for (int run = 0; run < 20; ++run) {
    const int64_t capacity = below(12 * kBlock);
    PageCache cache(capacity);
    NaiveCache naive(capacity);
    for (int step = 0; step < 200; ++step) {
      const Extent range{below(16 * kBlock), 1 + below(3 * kBlock)};
      PageCache::Access access;
      PageCache::Access expected;
      const int64_t what = below(8);
      if (what == 0) {
        const int64_t left = below(4 * kBlock);
        const std::vector<Extent> runs = cache.clean(left);
        ASSERT_EQ(runs, naive.clean(left));
        cleaned += std::ssize(runs);
      } else if (what < 4) {
        cache.read(range, access);
        naive.read(range, expected);
      } else {
        cache.write(range, access);
        naive.write(range, expected);
      }
      ASSERT_EQ(access.missing, expected.missing);
      ASSERT_EQ(access.evicted, expected.evicted);
      ASSERT_EQ(access.hit_bytes, expected.hit_bytes);
      ASSERT_EQ(cache.dirty_bytes(), naive.dirty_bytes());
      evicted += std::ssize(access.evicted);
      hits += access.hit_bytes;
    }
  }
  EXPECT_GT(evicted, 100);
  EXPECT_GT(hits, 100 * kBlock);
  EXPECT_GT(cleaned, 100);
}

TEST(PageCache, ReadsWholeBlocksOnce) {
  PageCache cache(8 * kBlock);
  PageCache::Access first;
  cache.read({kBlock + 10, 20}, first);
  EXPECT_EQ(first.missing, (std::vector<Extent>{{kBlock, kBlock}}));
  EXPECT_EQ(first.hit_bytes, 0);
  PageCache::Access again;
  cache.read({kBlock, kBlock}, again);
  EXPECT_TRUE(again.missing.empty());
  EXPECT_EQ(again.hit_bytes, kBlock);
}

TEST(PageCache, JoinsWrittenBlocksInTheOrderOfTheirPositions) {
  PageCache cache(8 * kBlock);
  PageCache::Access access;
  for (const int64_t number : {5, 2, 1, 3}) cache.write({number * kBlock, 8}, access);
  EXPECT_EQ(cache.clean(0), (std::vector<Extent>{{kBlock, 3 * kBlock}, {5 * kBlock, kBlock}}));
  EXPECT_EQ(cache.dirty_bytes(), 0);
  EXPECT_TRUE(access.evicted.empty());
}

TEST(PageCache, OfLessThanABlockHasRoomForOne) {
  PageCache cache(1);
  PageCache::Access access;
  cache.write({0, 2 * kBlock}, access);
  EXPECT_EQ(access.evicted, (std::vector<Extent>{{0, kBlock}}));
  EXPECT_EQ(cache.dirty_bytes(), kBlock);
}

}  // namespace
}  // namespace swath::simulate
