// Checks and inputs of a change of a store, before anything is written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/new_array.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {

// The root. Throws Error{kFormat} if there is no store, Error{kArgument} if the store is one array.
Node root_group(Nodes& nodes);
// A group or an array. Throws Error{kArgument} if it does not exist.
Node existing_node(Nodes& nodes, const std::string& name);
// The name of a new array. Throws Error{kStore} with EEXIST if it exists, Error{kArgument} if the name is not possible.
std::string new_name(Nodes& nodes, const Node& root, const formats::NewArray& array);

// The groups above an array, from the root down.
struct GroupsAbove {
  std::vector<Node> there = {};
  std::vector<std::string> missing = {};
};
GroupsAbove groups_above(Nodes& nodes, const std::string& name);

// The array with the lengths of the dimensions that exist already. Throws Error{kArgument}.
formats::NewArray fitted(Nodes& nodes, const formats::NewArray& array, const std::string& name,
                         const std::vector<Node>& groups);
// The names of dimensions that will grow, and that no group declares yet.
Names newly_unlimited(const formats::NewArray& array, const std::vector<Node>& groups);

// The arrays along a dimension, and the numbers of this dimension in each. Throws Error{kArgument} if there is none.
using Along = std::vector<std::pair<const Node*, std::vector<size_t>>>;
Along arrays_along(const std::string& path, const std::vector<Node>& nodes, const std::string& dimension);

// The node with its attributes added, replaced or, if null, removed.
Node with_changed_attributes(const Node& node, const formats::Attributes& changes);

}  // namespace swath::zarr
