// Regions of a view that no product of index sets describes: a nest of the file's side, and one of memory's. Data byte
// for data byte the one belongs to the other; positions are data bytes.
#pragma once

#include <cstdint>

#include "layout/run.h"
#include "space/nest.h"
#include "space/view.h"

namespace swath {

class ViewRegions {
 public:
  ViewRegions() = default;
  // The bytes of `file`, from data byte `memory_first` of `memory` on.
  ViewRegions(View file, Nest memory, int64_t memory_first);

  int64_t count() const { return file_.bytes(); }
  static int64_t element_bytes() { return 1; }
  int64_t offset_of(int64_t position) const { return file_.offset_of(position); }
  int64_t memory_of(int64_t position) const { return memory_.offset_of(memory_first_ + position); }
  int64_t elements_before(int64_t offset) const { return file_.bytes_before(offset); }
  int64_t runs(int64_t first, int64_t last) const { return file_.nest.runs(file_.first + first, file_.first + last); }
  int64_t pieces(int64_t first, int64_t last) const {
    return first >= last ? 0 : runs(first, last) + memory_pieces(first, last) - 1;
  }
  static int64_t block_bytes() { return 1; }
  int64_t longest_run() const;
  int64_t widest_hole() const { return file_.nest.widest_hole(); }
  Run run_at(int64_t position, int64_t last) const;
  bool is_dense() const { return count() == 0 || memory_pieces(0, count()) == 1; }
  int64_t memory_pieces(int64_t first, int64_t last) const {
    return memory_.runs(memory_first_ + first, memory_first_ + last);
  }
  int64_t memory_end(int64_t position, int64_t last) const;
  int64_t memory_block_bytes() const;
  bool is_shifted(const ViewRegions& other) const;
  ViewRegions packed(int64_t origin) const;
  ViewRegions packed_in_file() const;

  const View& file() const { return file_; }
  const Nest& memory() const { return memory_; }
  int64_t memory_first() const { return memory_first_; }

 private:
  View file_;
  Nest memory_;
  int64_t memory_first_ = 0;
};

}  // namespace swath
