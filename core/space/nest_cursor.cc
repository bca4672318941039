#include "space/nest_cursor.h"

#include <algorithm>

#include "space/nest_node.h"

namespace swath {

using Node = Nest::Node;

NestCursor::NestCursor(const Nest& nest, int64_t position) {
  if (position < nest.bytes()) descend(nest.node().get(), nest.origin(), position);
}

void NestCursor::descend(const Node* node, int64_t offset, int64_t position) {
  while (!node->is_row()) {
    const int64_t child = node->child_at(position);
    levels_.push_back({node, child, offset});
    offset += node->displacement(child);
    position -= node->bytes_before_child(child);
    node = node->child(child);
  }
  row_ = node;
  row_offset_ = offset;
  block_ = node->kind == Node::Kind::kBlock ? 0 : node->child_at(position);
  in_block_ = position - node->bytes_before_child(block_);
}

void NestCursor::next_row() {
  row_ = nullptr;
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (++level.child < level.node->count) {
      const int64_t offset = level.offset + level.node->displacement(level.child);
      return descend(level.node->child(level.child), offset, 0);
    }
    levels_.pop_back();
  }
}

NestCursor::Row NestCursor::row() const {
  const int64_t offset = row_offset_ + row_->displacement(block_) + in_block_;
  const int64_t left = row_->child_bytes(block_) - in_block_;
  if (row_->kind != Node::Kind::kStrided || in_block_ > 0) return {offset, left, 1, 0};
  const int64_t count = row_->count - block_;
  return {offset, left, count, count > 1 ? row_->stride : 0};
}

std::optional<NestCursor::List> NestCursor::list() const {
  if (!row_->is_listed() || in_block_ > 0) return std::nullopt;
  const auto from = static_cast<size_t>(block_);
  List list{row_offset_, std::span(row_->displacements).subspan(from), {}, 0};
  if (row_->data_before.empty()) {
    list.block = row_->child_bytes(0);
  } else {
    list.data_before = std::span(row_->data_before).subspan(from);
  }
  return list;
}

int64_t NestCursor::List::whole_blocks(int64_t bytes) const {
  if (is_equal()) return std::min(std::ssize(displacements), bytes / block);
  return std::upper_bound(data_before.begin(), data_before.end(), data_before[0] + bytes) - data_before.begin() - 1;
}

int64_t NestCursor::List::bytes_of(int64_t blocks) const {
  return is_equal() ? blocks * block : data_before[static_cast<size_t>(blocks)] - data_before[0];
}

void NestCursor::advance_list(int64_t blocks) {
  block_ += blocks;
  if (block_ == row_->count) next_row();
}

void NestCursor::advance(int64_t bytes) {
  in_block_ += bytes;
  const int64_t block_bytes = row_->child_bytes(block_);
  if (in_block_ < block_bytes) return;
  if (row_->kind == Node::Kind::kStrided) {
    block_ += in_block_ / block_bytes;
    in_block_ %= block_bytes;
  } else {
    ++block_;
    in_block_ = 0;
  }
  if (block_ == row_->count) next_row();
}

}  // namespace swath
