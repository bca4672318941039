// What changes of a store ask of its nodes before anything is written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/new_array.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {

// The root. Throws Error{kFormat} for no store, Error{kArgument} for one that is an array.
Node root_group(Nodes& nodes);
// A group or an array. Throws Error{kArgument} where there is none.
Node existing_node(Nodes& nodes, const std::string& name);
// The name that a new array gets. Throws Error{kStore} with EEXIST, Error{kArgument} where it cannot have it.
std::string new_name(Nodes& nodes, const Node& root, const formats::NewArray& array);

// The groups above an array, from the root down.
struct GroupsAbove {
  std::vector<Node> there = {};
  std::vector<std::string> missing = {};
};
GroupsAbove groups_above(Nodes& nodes, const std::string& name);

// What is asked for, as long as the dimensions that are there already. Throws Error{kArgument}.
formats::NewArray fitted(Nodes& nodes, const formats::NewArray& array, const std::string& name,
                         const std::vector<Node>& groups);
// The names of dimensions that are to grow, and that no group declares yet.
Names newly_unlimited(const formats::NewArray& array, const std::vector<Node>& groups);

// The arrays that have a dimension, and which of theirs it is. Throws Error{kArgument} where there is none.
using Along = std::vector<std::pair<const Node*, std::vector<size_t>>>;
Along arrays_along(const std::string& path, const std::vector<Node>& nodes, const std::string& dimension);

// The node with attributes added, replaced and, where they are null, removed.
Node with_changed_attributes(const Node& node, const formats::Attributes& changes);

}  // namespace swath::zarr
