// The disk addresses of a file's bytes. They depend on the order of the writes only, as in a file system that allocates
// the next free place.
//
// A file gets `extent_bytes` at a time. Therefore one writer at a time makes long runs, and writers in turns interleave
// their files extent by extent (figure 1 of the paper, (a) and (b)):
//
//   a wrote two extents, then b two:   a a b b          both wrote in turn:   a b a b
//
// A hole (bytes never written) has no place, and costs no disk time.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "model/disk.h"

namespace swath {

// A file by device and inode, independent of its name.
struct FileKey {
  uint64_t device = 0;
  uint64_t inode = 0;

  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

class BlockAllocator {
 public:
  BlockAllocator(int64_t capacity_bytes, int64_t extent_bytes);

  // Allocates every extent of the file that [offset, offset + bytes) touches. Throws kStore (ENOSPC) if the disk is
  // full; earlier allocations stay.
  void write(const FileKey& file, int64_t offset, int64_t bytes);
  // The places of the bytes, in their order and without holes; adjacent places are one range.
  std::vector<DiskRange> ranges(const FileKey& file, int64_t offset, int64_t bytes) const;

  // Frees the extents wholly after the first `bytes`.
  void resize(const FileKey& file, int64_t bytes);
  void forget(const FileKey& file) { resize(file, 0); }

  int64_t free_bytes() const;

 private:
  int64_t take_extent();
  void give_back(int64_t position);

  int64_t extent_bytes_;
  int64_t next_ = 0;                                      // where the search for a free place continues
  std::map<int64_t, int64_t> free_;                       // begin -> end, disjoint, never touching
  std::map<FileKey, std::map<int64_t, int64_t>> places_;  // file -> number of the extent -> position
};

}  // namespace swath
