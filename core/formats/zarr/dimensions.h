// The dimensions of a Zarr store, which are nowhere but in its arrays: each names its own, and has their lengths.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/contents.h"
#include "formats/zarr/nodes.h"

namespace swath::zarr {

// Which dimension each group defines.
//
// A name that several arrays of a group use is one dimension; the first of them has its length. Where a group above has
// one of the same name and length, it is that one, unless the group declares it itself.
class Dimensions {
 public:
  // `nodes`: groups before what they hold.
  explicit Dimensions(const std::vector<Node>& nodes);

  // Those that a group defines itself, in the order in which its arrays have them.
  const std::vector<formats::Dimension>& of_group(const std::string& group) const;

  struct Seen {
    std::string group = {};  // that defines it
    formats::Dimension dimension = {};
  };
  // What a name means in a group; none where no group above has it.
  std::optional<Seen> seen_from(std::string group, const std::string& name) const;
  // Which of an array's dimensions are the one that a group defines under this name.
  std::vector<size_t> axes_along(const Node& array, const std::string& group, const std::string& name) const;
  // All of them, "ocean/time" of the group "ocean", by name.
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
