// Which addresses of a disk the bytes of a file get: decided by the order of the writes alone, as a file system does
// that gives out the next free place.
//
// A file gets `extent_bytes` at a time. One writer at a time therefore makes long runs, and writers that take turns
// interleave their files extent by extent (figure 1 of the paper, (a) and (b)):
//
//   a wrote two extents, then b two:   a a b b          both wrote in turn:   a b a b
//
// What was never written (a hole) has no place and costs no disk anything.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "model/disk.h"

namespace swath {

// A file as the system knows it, whatever it is called.
struct FileKey {
  uint64_t device = 0;
  uint64_t inode = 0;

  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

class BlockAllocator {
 public:
  BlockAllocator(int64_t capacity_bytes, int64_t extent_bytes);

  // Every extent of the file that [offset, offset + bytes) touches has a place afterwards. Throws kStore (ENOSPC) where
  // the disk is full; what was given before that stays given.
  void write(const FileKey& file, int64_t offset, int64_t bytes);
  // Where the bytes are, in their order, holes left out; what is one after another on the disk is one range.
  std::vector<DiskRange> ranges(const FileKey& file, int64_t offset, int64_t bytes) const;

  // Gives back what lies wholly past the first `bytes`.
  void resize(const FileKey& file, int64_t bytes);
  void forget(const FileKey& file) { resize(file, 0); }

  int64_t free_bytes() const;

 private:
  int64_t take_extent();
  void give_back(int64_t position);

  int64_t extent_bytes_;
  int64_t next_ = 0;                                      // the search for a free place goes on here
  std::map<int64_t, int64_t> free_;                       // begin -> end, disjoint, never touching
  std::map<FileKey, std::map<int64_t, int64_t>> places_;  // file -> number of the extent -> position
};

}  // namespace swath
