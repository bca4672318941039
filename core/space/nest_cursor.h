// A walk along the bytes of a nest, in their order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "space/nest.h"

namespace swath {

class NestCursor {
 public:
  // Whole blocks that lie `stride` apart. What is left of a block that was begun is a row of its own.
  struct Row {
    int64_t offset;
    int64_t block;  // bytes
    int64_t count;
    int64_t stride;  // 0 where there is one block
  };

  // Whole blocks that are listed.
  struct List {
    int64_t offset;                          // of displacement 0
    std::span<const int64_t> displacements;  // of those that come next
    std::span<const int64_t> data_before;  // of blocks of different lengths: one more, the differences are the lengths
    int64_t block;                         // bytes of each, where they are equal

    bool is_equal() const { return data_before.empty(); }
    // How many of them go into so many bytes.
    int64_t whole_blocks(int64_t bytes) const;
    int64_t bytes_of(int64_t blocks) const;
  };

  // Begins at data byte `position`. The nest must outlive the walk.
  NestCursor(const Nest& nest, int64_t position);

  bool at_end() const { return row_ == nullptr; }
  // What comes next. Requires that there is something.
  Row row() const;
  // Nothing where what comes next is not listed, or a part of a block.
  std::optional<List> list() const;
  void advance_list(int64_t blocks);
  // By so many bytes, within row(): whole blocks of it, or a part of its first one.
  void advance(int64_t bytes);

 private:
  struct Level {
    const Nest::Node* node;
    int64_t child;
    int64_t offset;  // of the node
  };

  void descend(const Nest::Node* node, int64_t offset, int64_t position);
  void next_row();

  std::vector<Level> levels_;  // above the row, outermost first
  const Nest::Node* row_ = nullptr;
  int64_t row_offset_ = 0;
  int64_t block_ = 0;     // of the row
  int64_t in_block_ = 0;  // bytes
};

}  // namespace swath
