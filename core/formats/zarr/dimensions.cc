#include "formats/zarr/dimensions.h"

#include <algorithm>

namespace swath::zarr {

Dimensions::Dimensions(const std::vector<Node>& nodes) {
  std::vector<std::string> order;
  std::unordered_map<std::string, Names> declared;
  std::unordered_map<std::string, std::vector<const Node*>> arrays;
  for (const Node& node : nodes) {
    if (node.is_array) arrays[node.group()].push_back(&node);
    if (node.is_array && !node.name.empty()) continue;  // the whole store may be one array
    if (groups_.try_emplace(node.name).second) order.push_back(node.name);
    declared[node.name] = node.is_array ? Names{} : node.unlimited();
  }
  for (const std::string& group : order) {
    for (const Node* array : arrays[group]) define(*array, declared[group]);
  }
}

void Dimensions::define(const Node& array, const Names& declared) {
  const std::vector<std::string> names = array.dimensions();
  const Shape shape = array.shape();
  const std::string group = array.group();
  for (size_t axis = 0; axis < names.size(); ++axis) {
    const std::string& name = names[axis];
    if (name.empty() || find(group, name) != nullptr) continue;
    const bool grows = declared.contains(name);
    const std::optional<Seen> above = seen_from(group, name);
    if (!grows && above && above->dimension.length == shape[axis]) continue;
    Own& own = groups_[group];
    own.places.emplace(name, own.in_order.size());
    own.in_order.push_back({name, shape[axis], grows});
  }
}

const formats::Dimension* Dimensions::find(const std::string& group, const std::string& name) const {
  const auto own = groups_.find(group);
  if (own == groups_.end()) return nullptr;
  const auto found = own->second.places.find(name);
  return found == own->second.places.end() ? nullptr : &own->second.in_order[found->second];
}

const std::vector<formats::Dimension>& Dimensions::of_group(const std::string& group) const {
  return groups_.at(group).in_order;
}

std::optional<Dimensions::Seen> Dimensions::seen_from(std::string group, const std::string& name) const {
  for (;; group = formats::group_and_name(group).first) {
    if (const formats::Dimension* found = find(group, name)) return Seen{group, *found};
    if (group.empty()) return std::nullopt;
  }
}

std::vector<size_t> Dimensions::axes_along(const Node& array, const std::string& group, const std::string& name) const {
  const std::vector<std::string> names = array.dimensions();
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < names.size(); ++axis) {
    if (names[axis] != name) continue;
    const std::optional<Seen> seen = seen_from(array.group(), name);
    if (seen && seen->group == group) axes.push_back(axis);
  }
  return axes;
}

std::vector<std::string> Dimensions::paths() const {
  std::vector<std::string> found;
  for (const auto& [group, own] : groups_) {
    for (const formats::Dimension& one : own.in_order)
      found.push_back(group.empty() ? one.name : group + "/" + one.name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace swath::zarr
