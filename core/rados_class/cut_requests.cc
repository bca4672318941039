#include "rados_class/cut_requests.h"

namespace swath {

bool can_be_described(const Nest& nest) {
  if (nest.empty()) return true;
  const int64_t outermost = nest.node()->is_listed() ? nest.node()->count : 0;
  return nest.listed() - outermost <= RequestCuts::kListedMost;
}

int64_t RequestCuts::end_of_set(int64_t set, int64_t first, int64_t last) const {
  const int64_t end = std::min(last, nest_.bytes_before((set + 1) * stripes_.set_bytes()));
  const Nest::Node& node = *nest_.node();
  if (!node.is_listed()) return end;
  const int64_t child = node.child_at(first) + kListedMost;
  return child < node.count ? std::min(end, node.bytes_before_child(child)) : end;
}

View part_of(const Nest& nest, int64_t first, int64_t last) {
  const Nest::Node& node = *nest.node();
  if (!node.is_listed()) return {nest, first, last};
  const int64_t begin = node.child_at(first);
  const int64_t end = node.child_at(last - 1) + 1;
  if (begin == 0 && end == node.count) return {nest, first, last};
  std::vector<int64_t> displacements;
  for (int64_t i = begin; i < end; ++i) displacements.push_back(nest.origin() + node.displacement(i));
  // Child i as it lies where its displacement is 0.
  const auto child = [&](int64_t i) { return nest.child(i).shifted(-nest.origin() - node.displacement(i)); };
  Nest part;
  if (node.kind == Nest::Node::Kind::kIndexed) {
    part = Nest::indexed(displacements, child(begin));
  } else if (node.kind == Nest::Node::Kind::kBlocks) {
    std::vector<int64_t> lengths;
    for (int64_t i = begin; i < end; ++i) lengths.push_back(node.child_bytes(i));
    part = Nest::blocks(std::move(displacements), std::move(lengths));
  } else {
    std::vector<Nest> children;
    for (int64_t i = begin; i < end; ++i) children.push_back(child(i));
    part = Nest::sequence(displacements, children);
  }
  const int64_t before = node.bytes_before_child(begin);
  return {part, first - before, last - before};
}

}  // namespace swath
