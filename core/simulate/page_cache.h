// The page cache of a simulated server: which blocks of its disks are in memory, and which of these differ from the
// disk.
//
// A block that is not there takes the place of the one that was used least recently (LRU). Written blocks stay dirty
// until clean() or an eviction gives them back, for the caller to write. There is no time here: the caller simulates
// it.
//
// Left out: reading ahead, which is the disk's (model/disk.h), and reading the rest of a block of which a part is
// written.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulate/extent.h"

namespace swath::simulate {

class PageCache {
 public:
  static constexpr int64_t kBlockBytes = 4096;

  // Room for so many bytes, at least one block.
  explicit PageCache(int64_t bytes);

  // What an access makes the disks do.
  struct Access {
    std::vector<Extent> missing;  // whole blocks that a read needs
    std::vector<Extent> evicted;  // dirty blocks that made room
    int64_t hit_bytes = 0;        // of the read range, that were in memory
  };
  // After either, the blocks of the range are in memory, as far as they have room. Adds to `access`.
  void read(const Extent& range, Access& access);
  void write(const Extent& range, Access& access);
  // Makes the least recently used dirty blocks clean until at most `bytes_left` are dirty, and returns them in the
  // order of their positions.
  std::vector<Extent> clean(int64_t bytes_left);

  int64_t capacity_bytes() const { return capacity_ * kBlockBytes; }
  int64_t dirty_bytes() const { return dirty_ * kBlockBytes; }

 private:
  // Two orders of blocks, by their last use: of all blocks, and of dirty ones.
  enum Order { kAll, kDirty };
  struct Neighbours {
    int32_t newer = 0;
    int32_t older = 0;
  };
  struct Block {
    int64_t number = -1;
    bool is_dirty = false;
    std::array<Neighbours, 2> neighbours{};
  };

  bool use(int64_t number, Access& access);
  int32_t place_for(Access& access);
  void make_dirty(int32_t index);
  void make_clean(int32_t index);
  void insert(Order order, int32_t index);
  void remove(Order order, int32_t index);
  void move_to_front(Order order, int32_t index);

  const int64_t capacity_;  // blocks
  int64_t dirty_ = 0;       // blocks
  // The first one is no block: in both orders it is between the newest and the oldest one.
  std::vector<Block> blocks_;
  std::unordered_map<int64_t, int32_t> index_of_;
};

}  // namespace swath::simulate
