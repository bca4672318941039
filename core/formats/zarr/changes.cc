#include "formats/zarr/changes.h"

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "formats/contents.h"
#include "formats/zarr/attributes.h"
#include "formats/zarr/dimensions.h"
#include "formats/zarr/new_metadata.h"

namespace swath::zarr {
namespace {

using formats::Attributes;
using formats::NewArray;
using formats::NullValue;

constexpr size_t kListed = 20;

std::string quoted(const std::string& name) { return "'" + name + "'"; }

bool is_null(const formats::AttributeValue& value) { return std::holds_alternative<NullValue>(value); }

// The length of an existing dimension that a new array has.
int64_t fitted_length(const NewArray& array, const std::string& name, size_t axis, const formats::Dimension& there) {
  const std::string words = name + ": dimension " + quoted(there.name) + " is there already, ";
  if (array.grows(axis) && !there.is_unlimited) {
    fail_argument(words + "has the length " + std::to_string(there.length) +
                  ", and is not one that grows; give its length, or choose another name");
  }
  if (!array.grows(axis) && array.shape[axis] != there.length) {
    fail_argument(words + "and has the length " + std::to_string(there.length) + ", not " +
                  std::to_string(array.shape[axis]) + "; choose another name");
  }
  return there.length;
}

}  // namespace

Node root_group(Nodes& nodes) {
  std::optional<Node> root = nodes.read("");
  if (!root) throw no_store(nodes.path());
  if (root->is_array) {
    fail_argument(nodes.path() + ": the store is one array, which holds no others; make a store with groups instead");
  }
  return std::move(*root);
}

Node existing_node(Nodes& nodes, const std::string& name) {
  const std::string own = stripped(name);
  std::optional<Node> found = own.empty() || is_name(own) ? nodes.read(own) : std::nullopt;
  if (!found) fail_argument(nodes.path() + ": there is no group and no array " + quoted(own));
  return std::move(*found);
}

std::string new_name(Nodes& nodes, const Node& root, const NewArray& array) {
  if (!array.variable || !is_name(*array.variable)) {
    fail_argument("Zarr allows no name " + (array.variable ? quoted(*array.variable) : "None") +
                  "; expected a name, or group/name");
  }
  const std::string name = stripped(*array.variable);
  if (const std::optional<Node> taken = nodes.read(name)) {
    throw Error(ErrorKind::kStore,
                root.path + ": there is " + (taken->is_array ? "an array " : "a group ") + quoted(name) +
                    " already; choose another name",
                EEXIST);
  }
  if (is_taken(joined(root.path, name))) {
    fail_argument(root.path + ": there is something else than an array under the name " + quoted(name));
  }
  return name;
}

GroupsAbove groups_above(Nodes& nodes, const std::string& name) {
  GroupsAbove found;
  for (size_t end = 0; end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string above = name.substr(0, end);
    std::optional<Node> node = nodes.read(above);
    if (!node) {
      found.missing.push_back(above);
    } else if (node->is_array) {
      fail_argument(nodes.path() + ": " + quoted(above) + " is an array, which holds no others such as " +
                    quoted(name));
    } else {
      found.there.push_back(std::move(*node));
    }
  }
  return found;
}

NewArray fitted(Nodes& nodes, const NewArray& array, const std::string& name, const std::vector<Node>& groups) {
  NewArray found = array;
  if (!array.dimensions) return found;
  std::vector<Node> known;
  for (const Node& group : groups) {
    known.push_back(group);
    for (Node& one : nodes.arrays_in(group)) known.push_back(std::move(one));
  }
  const Dimensions dimensions(known);
  const std::string group = formats::group_and_name(name).first;
  for (size_t axis = 0; axis < array.dimensions->size(); ++axis) {
    const auto seen = dimensions.seen_from(group, (*array.dimensions)[axis]);
    if (seen) found.shape[axis] = fitted_length(array, name, axis, seen->dimension);
  }
  return found;
}

Names newly_unlimited(const NewArray& array, const std::vector<Node>& groups) {
  Names found;
  if (!array.dimensions) return found;
  for (size_t axis = 0; axis < array.dimensions->size(); ++axis) {
    if (array.grows(axis)) found.insert((*array.dimensions)[axis]);
  }
  for (const Node& group : groups) {
    for (const std::string& name : group.unlimited()) found.erase(name);
  }
  return found;
}

Along arrays_along(const std::string& path, const std::vector<Node>& nodes, const std::string& dimension) {
  const Dimensions dimensions(nodes);
  const bool has_name = !dimension.starts_with(':');
  const std::string own = has_name ? dimension : dimension.substr(1);
  const auto [group, name] = formats::group_and_name(dimension);
  const auto seen = has_name ? dimensions.seen_from(group, name) : std::nullopt;
  Along found;
  for (const Node& node : nodes) {
    if (!node.is_array) continue;
    std::vector<size_t> axes;
    if (seen) {
      axes = dimensions.axes_along(node, seen->group, name);
    } else if (node.name == own && !node.shape().empty() && node.dimensions().empty()) {
      axes = {0};
    }
    if (!axes.empty()) found.emplace_back(&node, std::move(axes));
  }
  if (!found.empty() || seen) return found;
  std::string there;
  std::vector<std::string> paths = dimensions.paths();
  paths.resize(std::min(paths.size(), kListed));
  for (const std::string& one : paths) there += (there.empty() ? "" : ", ") + one;
  fail_argument(path + ": there is no dimension " + quoted(dimension) +
                "; there are: " + (there.empty() ? "none" : there));
}

Node with_changed_attributes(const Node& node, const Attributes& changes) {
  Attributes kept;
  for (const auto& [name, value] : changes.entries()) {
    refuse_own_name(name);
    if (!is_null(value)) kept.set(name, value);
  }
  const formats::AttributeValue* fill = changes.find(std::string(kFill));
  const bool sets_fill = node.is_array && fill != nullptr;
  if (sets_fill) kept.remove(std::string(kFill));
  Json stored = Json::object(Json::Members(node.attributes.members().begin(), node.attributes.members().end()));
  for (auto& [name, value] : attributes_to_json(kept)) stored = stored.with(name, value);
  for (const auto& [name, value] : changes.entries()) {
    if (is_null(value)) stored = stored.without(name);
  }
  const Node changed = node.with_attributes(stored);
  return sets_fill ? with_fill(changed, *fill) : changed;
}

}  // namespace swath::zarr
