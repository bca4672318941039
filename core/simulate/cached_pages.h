// The pages of one file that are in the page cache of a node, and which of these differ from the disk.
//
// The kernel reads ahead where pages are read one after the other. There is no time here: the caller simulates it. The
// memory of the node is taken to hold the whole file.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/extent.h"

namespace swath::simulate {

class CachedPages {
 public:
  static constexpr int64_t kPageBytes = 4096;
  static constexpr int64_t kAheadBytes = int64_t{128} * 1024;

  // `holds_file`: all pages are there at first.
  explicit CachedPages(bool holds_file) : holds_file_(holds_file) {}

  // What the disk must read for a read of this range of a file of `file_bytes` bytes, of a rank whose request before
  // ended at `last_end`. After that, the pages are there.
  std::vector<Extent> read(const Extent& range, int64_t last_end, int64_t file_bytes);
  // The same for a write: the pages of which it changes a part only.
  std::vector<Extent> write(const Extent& range, int64_t file_bytes);
  // The part of the range that is there, from 0 to 1, of at most 1,024 of its pages.
  double part(const Extent& range) const;
  // The pages that were written since the last call.
  std::vector<Extent> clean();

 private:
  bool has(int64_t page) const { return holds_file_ || bit(there_, page); }
  static bool bit(const std::vector<bool>& of, int64_t page);
  static void set(std::vector<bool>& of, int64_t page);

  const bool holds_file_;
  std::vector<bool> there_;
  std::vector<bool> dirty_;
};

}  // namespace swath::simulate
