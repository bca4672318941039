// The internal representation of a nest's levels: only for nest*.cc and the traversals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "space/nest.h"

namespace swath {

// Properties of a sequence of bytes whose byte 0 is at offset 0, without its parts.
struct NestSummary {
  int64_t bytes = 0;
  int64_t low = 0;
  int64_t high = 0;
  int64_t end = 0;  // one past the last byte
  int64_t breaks = 0;
  int64_t first_run = 0;  // bytes
  int64_t last_run = 0;
  int64_t longest_run = 0;
  int64_t widest_hole = 0;
  bool is_ascending = true;

  // Appends `next` at `displacement`.
  void append(const NestSummary& next, int64_t displacement);
};

struct Nest::Node {
  enum class Kind : int64_t { kBlock, kStrided, kIndexed, kBlocks, kSequence };
  using Pointer = std::shared_ptr<const Node>;

  Kind kind = Kind::kBlock;
  NestSummary all;
  int64_t count = 1;
  int64_t stride = 0;                  // kStrided
  std::vector<int64_t> displacements;  // kIndexed, kBlocks, kSequence: of child 0 it is 0
  std::vector<int64_t> data_before;    // kBlocks, kSequence: bytes of the children before each; at last of all
  std::vector<int64_t> breaks_before;  // kSequence, and kIndexed where some children touch: breaks before each
  int64_t joint_breaks = 0;            // kStrided, kIndexed with equal joints: breaks between two children
  std::vector<Pointer> children;       // kStrided, kIndexed: one for all; kSequence: each
  int depth = 1;

  bool is_listed() const { return kind != Kind::kBlock && kind != Kind::kStrided; }
  // True for one or several blocks: no level is below it but blocks.
  bool is_row() const {
    if (children.empty()) return true;
    return kind != Kind::kSequence && children[0]->kind == Kind::kBlock;
  }

  int64_t displacement(int64_t i) const { return is_listed() ? displacements[static_cast<size_t>(i)] : i * stride; }
  // Null for blocks.
  const Node* child(int64_t i) const {
    if (children.empty()) return nullptr;
    return children.size() == 1 ? children[0].get() : children[static_cast<size_t>(i)].get();
  }
  int64_t child_bytes(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    if (!data_before.empty()) return data_before[at + 1] - data_before[at];
    return kind == Kind::kBlock ? all.bytes : children[0]->all.bytes;
  }
  int64_t bytes_before_child(int64_t i) const {
    return data_before.empty() ? i * child_bytes(0) : data_before[static_cast<size_t>(i)];
  }
  // The child with data byte `position`.
  int64_t child_at(int64_t position) const {
    if (data_before.empty()) return position / child_bytes(0);
    return std::upper_bound(data_before.begin(), data_before.end(), position) - data_before.begin() - 1;
  }
};

}  // namespace swath
