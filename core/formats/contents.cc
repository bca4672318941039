#include "formats/contents.h"

#include <algorithm>

#include "base/error.h"

namespace swath::formats {
namespace {

std::string stripped(std::string_view path) {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return std::string(path);
}

std::string joined(std::string_view group, std::string_view name) {
  return group.empty() ? std::string(name) : std::string(group) + "/" + std::string(name);
}

}  // namespace

const Dimension* Group::dimension(std::string_view name) const {
  const auto found =
      std::find_if(dimensions.begin(), dimensions.end(), [&](const auto& one) { return one.name == name; });
  return found == dimensions.end() ? nullptr : &*found;
}

std::string Variable::group() const { return group_and_name(path).first; }
std::string Variable::name() const { return group_and_name(path).second; }

std::pair<std::string, std::string> group_and_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

Contents::Contents(std::string format, std::string version) : format_(std::move(format)), version_(std::move(version)) {
  add(Group{});
}

const Group* Contents::group(std::string_view path) const {
  const auto found = group_at_.find(stripped(path));
  return found == group_at_.end() ? nullptr : &groups_[found->second];
}

const Variable* Contents::variable(std::string_view path) const {
  auto found = variable_at_.find(std::string(path));
  if (found == variable_at_.end()) found = variable_at_.find(stripped(path));
  return found == variable_at_.end() ? nullptr : &variables_[found->second];
}

const Dimension* Contents::dimension(std::string_view group, std::string_view name) const {
  for (std::string above(group);; above = group_and_name(above).first) {
    const Group* here = this->group(above);
    const Dimension* found = here == nullptr ? nullptr : here->dimension(name);
    if (found != nullptr || above.empty()) return found;
  }
}

std::string Contents::path_of(std::string_view group, std::string_view name) const {
  for (std::string above(group);; above = group_and_name(above).first) {
    const Group* here = this->group(above);
    if (here != nullptr && here->dimension(name) != nullptr) return joined(above, name);
    if (above.empty()) return joined(group, name);
  }
}

void Contents::add(Group group) {
  const auto [found, is_new] = group_at_.try_emplace(group.path, groups_.size());
  if (is_new) {
    groups_.push_back(std::move(group));
  } else {
    groups_[found->second] = std::move(group);
  }
}

void Contents::add(Variable variable) {
  const auto [found, is_new] = variable_at_.try_emplace(variable.path, variables_.size());
  if (is_new) {
    variables_.push_back(std::move(variable));
  } else {
    variables_[found->second] = std::move(variable);
  }
}

void Contents::set(std::string_view group, Dimension dimension) {
  Group& here = groups_.at(group_at_.at(stripped(group)));
  const auto there = std::find_if(here.dimensions.begin(), here.dimensions.end(),
                                  [&](const auto& one) { return one.name == dimension.name; });
  if (there == here.dimensions.end()) {
    here.dimensions.push_back(std::move(dimension));
  } else {
    *there = std::move(dimension);
  }
}

void Contents::set_length(std::string_view dimension, int64_t length) {
  const auto [group, name] = group_and_name(stripped(dimension));
  const Group* here = this->group(group);
  const Dimension* found = here == nullptr ? nullptr : here->dimension(name);
  if (found == nullptr) return;  // a variable without a name
  const std::string path = stripped(dimension);
  for (Variable& variable : variables_) {
    for (size_t axis = 0; axis < variable.dimensions.size(); ++axis) {
      if (variable.dimensions[axis] == name && path_of(variable.group(), name) == path) variable.shape[axis] = length;
    }
  }
  set(group, {name, length, found->is_unlimited});
}

void Contents::set_attributes(std::string_view holder, const Attributes& changes) {
  if (const auto group = group_at_.find(stripped(holder)); group != group_at_.end()) {
    Attributes& attributes = groups_[group->second].attributes;
    attributes = attributes.with(changes);
    return;
  }
  const Variable* variable = this->variable(holder);
  if (variable == nullptr) fail_argument("there is no group or variable " + std::string(holder));
  Attributes& attributes = variables_[variable - variables_.data()].attributes;
  attributes = attributes.with(changes);
}

}  // namespace swath::formats
