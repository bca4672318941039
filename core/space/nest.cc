#include "space/nest.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/math.h"
#include "space/nest_node.h"

namespace swath {

using Node = Nest::Node;

int64_t Nest::bytes() const { return empty() ? 0 : node_->all.bytes; }
int64_t Nest::low() const { return empty() ? 0 : origin_ + node_->all.low; }
int64_t Nest::high() const { return empty() ? 0 : origin_ + node_->all.high; }
int64_t Nest::end() const { return empty() ? 0 : origin_ + node_->all.end; }
bool Nest::is_ascending() const { return empty() || node_->all.is_ascending; }
int64_t Nest::longest_run() const { return empty() ? 0 : node_->all.longest_run; }
int64_t Nest::widest_hole() const { return empty() ? 0 : node_->all.widest_hole; }
int Nest::depth() const { return empty() ? 0 : node_->depth; }

int64_t Nest::offset_of(int64_t position) const {
  int64_t offset = origin_;
  for (const Node* node = node_.get(); node != nullptr;) {
    if (node->kind == Node::Kind::kBlock) return offset + position;
    const int64_t i = node->child_at(position);
    offset += node->displacement(i);
    position -= node->bytes_before_child(i);
    node = node->child(i);
  }
  return offset + position;
}

namespace {

// The highest byte of child i, plus one.
int64_t high_of_child(const Node& node, int64_t i) {
  const Node* child = node.child(i);
  return node.displacement(i) + (child != nullptr ? child->all.high : node.child_bytes(i));
}

// How many children end at or before `offset`. Children ascend.
int64_t children_before(const Node& node, int64_t offset) {
  if (!node.is_listed()) {
    return std::clamp<int64_t>(floor_div(offset - node.children[0]->all.high, node.stride) + 1, 0, node.count);
  }
  int64_t low = 0;
  int64_t high = node.count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (high_of_child(node, middle) <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Breaks among the transitions t -> t + 1 with t < `transition`.
int64_t breaks_before(const Node* node, int64_t transition) {
  int64_t breaks = 0;
  while (node != nullptr && node->kind != Node::Kind::kBlock && transition > 0) {
    const int64_t i = std::min(node->child_at(transition), node->count - 1);
    if (node->kind == Node::Kind::kBlocks) return breaks + i;
    breaks += node->breaks_before.empty() ? i * (node->child(0)->all.breaks + node->joint_breaks)
                                          : node->breaks_before[static_cast<size_t>(i)];
    transition -= node->bytes_before_child(i);
    node = node->child(i);
  }
  return breaks;
}

}  // namespace

int64_t Nest::bytes_before(int64_t offset) const {
  if (offset >= high()) return bytes();  // also where the distance from an origin below 0 is beyond 64 bits
  int64_t before = 0;
  int64_t rest = offset - origin_;
  for (const Node* node = node_.get(); node != nullptr;) {
    if (rest <= node->all.low) return before;
    if (rest >= node->all.high) return before + node->all.bytes;
    if (node->kind == Node::Kind::kBlock) return before + rest;
    const int64_t i = children_before(*node, rest);
    before += node->bytes_before_child(i);
    rest -= node->displacement(i);
    if (node->kind == Node::Kind::kBlocks) return before + std::max<int64_t>(rest, 0);
    node = node->child(i);
  }
  return before;
}

int64_t Nest::runs(int64_t first, int64_t last) const {
  if (first >= last) return 0;
  return 1 + breaks_before(node_.get(), last - 1) - breaks_before(node_.get(), first);
}

Nest::Run Nest::run_at(int64_t position, int64_t last) const {
  const int64_t offset = offset_of(position);
  // Runs are found by their breaks: the last byte of the run is the last one with no break between.
  //
  // Most runs are one block, so what is asked first is its end.
  int64_t end = position;
  const int64_t breaks = breaks_before(node_.get(), position);
  while (end < last) {
    const Node* node = node_.get();
    int64_t rest = end;
    while (node->kind != Node::Kind::kBlock && node->kind != Node::Kind::kBlocks) {
      const int64_t i = node->child_at(rest);
      rest -= node->bytes_before_child(i);
      node = node->child(i);
    }
    const int64_t i = node->kind == Node::Kind::kBlock ? 0 : node->child_at(rest);
    end += node->bytes_before_child(i) + node->child_bytes(i) - rest;
    if (end >= last || breaks_before(node_.get(), end) > breaks) break;
  }
  end = std::min(end, last);
  return {offset, end - position, position};
}

namespace {

template <typename Visit>
void for_each_node(const Node* node, std::unordered_set<const Node*>& seen, const Visit& visit) {
  if (node == nullptr || !seen.insert(node).second) return;
  visit(*node);
  for (const auto& child : node->children) for_each_node(child.get(), seen, visit);
}

// Shared levels lead to the same pairs repeatedly: each pair is compared once.
class Comparison {
 public:
  bool are_equal(const Node* a, const Node* b) {
    if (a == b) return true;
    if (a == nullptr || b == nullptr || a->kind != b->kind || a->count != b->count || a->stride != b->stride ||
        a->all.bytes != b->all.bytes || a->displacements != b->displacements || a->data_before != b->data_before) {
      return false;
    }
    if (a->children.empty() || !equal_.emplace(a, b).second) return true;
    // An unequal pair ends the comparison.
    return std::equal(a->children.begin(), a->children.end(), b->children.begin(), b->children.end(),
                      [&](const auto& x, const auto& y) { return are_equal(x.get(), y.get()); });
  }

 private:
  std::set<std::pair<const Node*, const Node*>> equal_;
};

std::string text_of(const Node& node) {
  const std::string count = std::to_string(node.count);
  switch (node.kind) {
    case Node::Kind::kBlock:
      return std::to_string(node.all.bytes) + " bytes";
    case Node::Kind::kStrided:
      return count + " x " + std::to_string(node.stride) + " bytes apart of " + text_of(*node.children[0]);
    case Node::Kind::kIndexed:
      return count + " places of " + text_of(*node.children[0]);
    case Node::Kind::kBlocks:
      return count + " places of 1 to " + std::to_string(node.all.longest_run) + " bytes";
    case Node::Kind::kSequence:
      return count + " places of different forms";
  }
  return {};
}

}  // namespace

Nest Nest::child(int64_t i) const {
  const auto& children = node_->children;
  const auto& found = children.size() == 1 ? children[0] : children[static_cast<size_t>(i)];
  return {origin_ + node_->displacement(i), found};
}

int64_t Nest::listed() const {
  std::unordered_set<const Node*> seen;
  int64_t listed = 0;
  for_each_node(node_.get(), seen, [&](const Node& node) { listed += std::ssize(node.displacements); });
  return listed;
}

int64_t Nest::memory_bytes() const {
  std::unordered_set<const Node*> seen;
  size_t bytes = 0;
  for_each_node(node_.get(), seen, [&](const Node& node) {
    bytes += sizeof(Node) + node.children.capacity() * sizeof(Node::Pointer);
    for (const auto* numbers : {&node.displacements, &node.data_before, &node.breaks_before}) {
      bytes += numbers->capacity() * sizeof(int64_t);
    }
  });
  return static_cast<int64_t>(bytes);
}

bool Nest::is_shifted(const Nest& other) const { return Comparison().are_equal(node_.get(), other.node_.get()); }

std::string Nest::to_string() const { return empty() ? "nothing" : text_of(*node_); }

}  // namespace swath
