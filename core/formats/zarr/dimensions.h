// The dimensions of a Zarr store. Only arrays store them: each array has the names and lengths of its own dimensions.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/contents.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {

// The dimensions that each group defines.
//
// Arrays of a group with the same dimension name share one dimension; the first array has its length. If a group above
// has a dimension of this name and length, it is the same dimension, unless the group declares it itself.
class Dimensions {
 public:
  // `nodes`: each group precedes its content.
  explicit Dimensions(const std::vector<Node>& nodes);

  // The dimensions that a group defines itself, in the order of its arrays.
  const std::vector<formats::Dimension>& of_group(const std::string& group) const;

  struct Seen {
    std::string group = {};  // the group that defines it
    formats::Dimension dimension = {};
  };
  // The dimension that a name means in a group; none if neither the group nor one above has it.
  std::optional<Seen> seen_from(std::string group, const std::string& name) const;
  // The numbers of an array's dimensions that are the one that a group defines under this name.
  std::vector<size_t> axes_along(const Node& array, const std::string& group, const std::string& name) const;
  // The paths of all dimensions, by name: "ocean/time" in the group "ocean".
  std::vector<std::string> paths() const;

 private:
  const formats::Dimension* find(const std::string& group, const std::string& name) const;
  void define(const Node& array, const Names& declared);

  struct Own {
    std::vector<formats::Dimension> in_order = {};
    std::unordered_map<std::string, size_t> places = {};
  };
  std::unordered_map<std::string, Own> groups_ = {};
};

}  // namespace swath::zarr
