// Building nests: the simplest form of what was said.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "space/nest.h"
#include "space/nest_node.h"

namespace swath {
namespace {

using Node = Nest::Node;

// Sums of a few such never leave 64 bits.
constexpr int64_t kOffsetMax = int64_t{1} << 62;

int64_t checked(int64_t value, bool overflows) {
  if (overflows || value > kOffsetMax || value < -kOffsetMax) {
    fail_argument("view: an offset or a number of bytes beyond 2^62; describe fewer or nearer places");
  }
  return value;
}

int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = __builtin_add_overflow(a, b, &result);
  return checked(result, overflows);
}

int64_t difference(int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = __builtin_sub_overflow(a, b, &result);
  return checked(result, overflows);
}

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = __builtin_mul_overflow(a, b, &result);
  return checked(result, overflows);
}

NestSummary summary_of_block(int64_t bytes) {
  return {.bytes = bytes, .high = bytes, .end = bytes, .first_run = bytes, .last_run = bytes, .longest_run = bytes};
}

// Of blocks that do not touch, the first of them at 0; length_of(i) of each.
template <typename LengthOf>
NestSummary summary_of_blocks(const std::vector<int64_t>& displacements, const LengthOf& length_of) {
  NestSummary all = summary_of_block(length_of(0));
  for (size_t i = 1; i < displacements.size(); ++i) {
    const int64_t displacement = displacements[i];
    const int64_t length = length_of(i);
    all.is_ascending = all.is_ascending && displacement >= all.high;
    all.widest_hole = std::max(all.widest_hole, displacement - all.end);
    all.longest_run = std::max(all.longest_run, length);
    all.bytes = sum(all.bytes, length);
    all.end = sum(displacement, length);
    all.low = std::min(all.low, displacement);
    all.high = std::max(all.high, all.end);
  }
  all.breaks = std::ssize(displacements) - 1;
  all.last_run = length_of(displacements.size() - 1);
  return all;
}

// Of so many of `child`, `stride` apart; `joint_breaks` 0 where they touch.
NestSummary summary_of_strided(const NestSummary& child, int64_t count, int64_t stride, int64_t joint_breaks) {
  NestSummary all = child;
  all.append(child, stride);  // two tell how each is joined to the next
  const int64_t reach = product(count - 1, stride);
  all.bytes = product(count, child.bytes);
  all.low = sum(child.low, std::min<int64_t>(reach, 0));
  all.high = sum(child.high, std::max<int64_t>(reach, 0));
  all.end = sum(child.end, reach);
  all.breaks = count * child.breaks + (count - 1) * joint_breaks;
  if (child.breaks == 0 && joint_breaks == 0) all.first_run = all.last_run = all.longest_run = all.bytes;
  return all;
}

int depth_over(int depth) {
  if (depth >= Nest::kDepthMax) {
    fail_argument("view: more than " + std::to_string(Nest::kDepthMax) + " levels; flatten the innermost of them");
  }
  return depth + 1;
}

Node::Pointer block_node(int64_t bytes) {
  auto node = std::make_shared<Node>();
  node->all = summary_of_block(bytes);
  return node;
}

Node::Pointer strided_node(int64_t count, int64_t stride, const Node::Pointer& child) {
  if (count == 1) return child;
  if (child->kind == Node::Kind::kBlock && stride == child->all.bytes) {
    return block_node(product(count, child->all.bytes));
  }
  if (child->kind == Node::Kind::kStrided && stride == product(child->count, child->stride)) {
    return strided_node(product(count, child->count), child->stride, child->children[0]);
  }
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kStrided;
  node->count = count;
  node->stride = stride;
  node->joint_breaks = stride == child->all.end ? 0 : 1;
  node->all = summary_of_strided(child->all, count, stride, node->joint_breaks);
  node->children = {child};
  node->depth = depth_over(child->depth);
  return node;
}

// Distances are compared modulo 2^64: the caller checks that they are within 62 bits.
bool are_equally_spaced(std::span<const int64_t> displacements) {
  const auto distance = [](int64_t a, int64_t b) { return static_cast<uint64_t>(b) - static_cast<uint64_t>(a); };
  const uint64_t spacing = distance(displacements[0], displacements[1]);
  return std::adjacent_find(displacements.begin(), displacements.end(),
                            [&](int64_t a, int64_t b) { return distance(a, b) != spacing; }) == displacements.end();
}

// The displacements begin with 0, and children do not touch where they are blocks.
Node::Pointer indexed_node(std::vector<int64_t> displacements, const Node::Pointer& child) {
  const auto count = static_cast<int64_t>(displacements.size());
  if (count == 1) return child;
  if (are_equally_spaced(displacements)) return strided_node(count, displacements[1], child);
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kIndexed;
  node->count = count;
  node->depth = depth_over(child->depth);
  if (child->kind == Node::Kind::kBlock) {
    node->all = summary_of_blocks(displacements, [&](size_t) { return child->all.bytes; });
    node->joint_breaks = 1;
    node->displacements = std::move(displacements);
    node->children = {child};
    return node;
  }
  std::vector<int64_t> breaks_before{0};
  node->all = child->all;
  for (size_t i = 1; i < displacements.size(); ++i) {
    const int64_t before = node->all.breaks;
    node->all.append(child->all, displacements[i]);
    breaks_before.push_back(node->all.breaks - child->all.breaks);
    node->joint_breaks = node->all.breaks - child->all.breaks - before;
  }
  // Where every joint is like the last one, a number says it.
  const int64_t each = child->all.breaks + node->joint_breaks;
  for (size_t i = 0; i < breaks_before.size(); ++i) {
    if (breaks_before[i] == static_cast<int64_t>(i) * each) continue;
    node->breaks_before = std::move(breaks_before);
    break;
  }
  node->displacements = std::move(displacements);
  node->children = {child};
  return node;
}

// Blocks that do not touch, of lengths that are not all equal; the displacements begin with 0.
Node::Pointer blocks_node(std::vector<int64_t> displacements, const std::vector<int64_t>& lengths) {
  if (lengths.size() == 1) return block_node(lengths[0]);
  if (std::all_of(lengths.begin(), lengths.end(), [&](int64_t length) { return length == lengths[0]; })) {
    return indexed_node(std::move(displacements), block_node(lengths[0]));
  }
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kBlocks;
  node->count = static_cast<int64_t>(lengths.size());
  node->data_before = {0};
  node->data_before.reserve(displacements.size() + 1);
  node->all = summary_of_blocks(displacements, [&](size_t i) { return lengths[i]; });
  for (const int64_t length : lengths) node->data_before.push_back(node->data_before.back() + length);
  node->displacements = std::move(displacements);
  return node;
}

Node::Pointer sequence_node(std::vector<int64_t> displacements, std::vector<Node::Pointer> children) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kSequence;
  node->count = static_cast<int64_t>(children.size());
  node->data_before = {0};
  node->data_before.reserve(displacements.size() + 1);
  for (size_t i = 0; i < children.size(); ++i) {
    const NestSummary& child = children[i]->all;
    if (i == 0) {
      node->all = child;
    } else {
      node->all.append(child, displacements[i]);
    }
    node->data_before.push_back(node->all.bytes);
    node->breaks_before.push_back(node->all.breaks - child.breaks);
    node->depth = std::max(node->depth, depth_over(children[i]->depth));
  }
  node->displacements = std::move(displacements);
  node->children = std::move(children);
  return node;
}

// Subtracts the first, and returns it: byte 0 of a node lies at 0.
int64_t take_origin(std::vector<int64_t>& displacements) {
  const int64_t origin = displacements[0];
  for (int64_t& displacement : displacements) displacement = difference(displacement, origin);
  return origin;
}

}  // namespace

void NestSummary::append(const NestSummary& next, int64_t displacement) {
  const bool touches = displacement == end;
  is_ascending = is_ascending && next.is_ascending && sum(displacement, next.low) >= high;
  widest_hole = std::max({widest_hole, next.widest_hole, displacement - end});
  longest_run = std::max({longest_run, next.longest_run, touches ? last_run + next.first_run : 0});
  if (touches && breaks == 0) first_run += next.first_run;
  last_run = touches && next.breaks == 0 ? last_run + next.last_run : next.last_run;
  breaks += next.breaks + (touches ? 0 : 1);
  bytes = sum(bytes, next.bytes);
  low = std::min(low, sum(displacement, next.low));
  high = std::max(high, sum(displacement, next.high));
  end = sum(displacement, next.end);
}

Nest Nest::block(int64_t bytes) { return bytes <= 0 ? Nest() : Nest(0, block_node(checked(bytes, false))); }

Nest Nest::strided(int64_t count, int64_t stride, const Nest& child) {
  if (count <= 0 || child.empty()) return {};
  return {child.origin_, strided_node(count, stride, child.node_)};
}

// Blocks that touch are joined where they stand: long lists are not copied.
Nest Nest::blocks(std::vector<int64_t> displacements, std::vector<int64_t> lengths) {
  size_t kept = 0;
  for (size_t i = 0; i < displacements.size(); ++i) {
    if (lengths[i] <= 0) continue;
    if (kept > 0 && sum(displacements[kept - 1], lengths[kept - 1]) == displacements[i]) {
      lengths[kept - 1] = sum(lengths[kept - 1], lengths[i]);
    } else {
      displacements[kept] = displacements[i];
      lengths[kept] = lengths[i];
      ++kept;
    }
  }
  if (kept == 0) return {};
  displacements.resize(kept);
  displacements.shrink_to_fit();
  lengths.resize(kept);
  const int64_t origin = take_origin(displacements);
  return {origin, blocks_node(std::move(displacements), lengths)};
}

Nest Nest::indexed(std::span<const int64_t> displacements, const Nest& child) {
  if (displacements.empty() || child.empty()) return {};
  // Many lists are regular: they need not be copied first.
  if (displacements.size() > 1 && are_equally_spaced(displacements)) {
    const int64_t spacing = difference(displacements[1], displacements[0]);
    return strided(std::ssize(displacements), spacing, child).shifted(displacements[0]);
  }
  if (child.node_->kind == Node::Kind::kBlock) {
    return blocks({displacements.begin(), displacements.end()},
                  std::vector<int64_t>(displacements.size(), child.bytes()))
        .shifted(child.origin_);
  }
  std::vector<int64_t> places(displacements.begin(), displacements.end());
  const int64_t origin = sum(take_origin(places), child.origin_);
  return {origin, indexed_node(std::move(places), child.node_)};
}

Nest Nest::sequence(std::span<const int64_t> displacements, std::span<const Nest> children) {
  std::vector<int64_t> places;
  std::vector<Node::Pointer> nodes;
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].empty()) continue;
    places.push_back(sum(displacements[i], children[i].origin_));
    nodes.push_back(children[i].node_);
  }
  if (nodes.empty()) return {};
  if (std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node->kind == Node::Kind::kBlock; })) {
    std::vector<int64_t> lengths;
    for (const auto& node : nodes) lengths.push_back(node->all.bytes);
    return blocks(std::move(places), std::move(lengths));
  }
  const Nest first(0, nodes[0]);
  if (std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) { return first.is_shifted({0, node}); })) {
    return indexed(places, first);
  }
  const int64_t origin = take_origin(places);
  return {origin, sequence_node(std::move(places), std::move(nodes))};
}

Nest Nest::shifted(int64_t distance) const { return empty() ? Nest() : Nest(sum(origin_, distance), node_); }

}  // namespace swath
