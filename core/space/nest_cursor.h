// A traversal of the bytes of a nest, in their order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "space/nest.h"

namespace swath {

class NestCursor {
 public:
  // Whole blocks at distance `stride`. The rest of a partly consumed block is a row of its own.
  struct Row {
    int64_t offset;
    int64_t block;  // bytes
    int64_t count;
    int64_t stride;  // 0 for one block
  };

  // Whole blocks at listed places.
  struct List {
    int64_t offset;                          // of displacement 0
    std::span<const int64_t> displacements;  // of the next blocks
    std::span<const int64_t> data_before;    // for blocks of different lengths: one more entry; the differences are the
                                             // lengths
    int64_t block;                           // bytes of each, if they are equal

    bool is_equal() const { return data_before.empty(); }
    // The number of whole blocks in so many bytes.
    int64_t whole_blocks(int64_t bytes) const;
    int64_t bytes_of(int64_t blocks) const;
  };

  // Starts at data byte `position`. The nest must outlive the cursor.
  NestCursor(const Nest& nest, int64_t position);

  bool at_end() const { return row_ == nullptr; }
  // The next row. Requires that bytes are left.
  Row row() const;
  // Nullopt if the next bytes are not listed, or are a part of a block.
  std::optional<List> list() const;
  void advance_list(int64_t blocks);
  // Moves forward within row(): by whole blocks, or by a part of the first block.
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
