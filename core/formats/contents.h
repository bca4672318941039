// The contents of a whole file: dimensions, groups, variables and attributes, in terms that all formats share.
//
//     const Contents found = open_format("run.nc")->contents("run.nc");
//     found.variable("ocean/t")->dimensions       // time, y, x
//     found.group("ocean")->attributes
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chunks/codec.h"
#include "formats/attribute.h"
#include "formats/element_type.h"
#include "space/distribution.h"

namespace swath::formats {

// A named length that variables share.
struct Dimension {
  std::string name;  // without its group
  int64_t length = 0;
  bool is_unlimited = false;  // variables may grow along it
  bool operator==(const Dimension& other) const = default;
};

// A folder of variables.
struct Group {
  std::string path;  // "" for the file itself, "ocean/surface" for a group in a group
  Attributes attributes;
  std::vector<Dimension> dimensions;  // those defined here; a group can also use the dimensions of the groups above it
  OtherAttributes other_attributes;

  const Dimension* dimension(std::string_view name) const;
};

// A type of netCDF-4 and HDF5 whose numbers have names.
struct Enumeration {
  std::string name;                                      // of the type; "" if the type has no name
  std::vector<std::pair<std::string, int64_t>> members;  // an unsigned number beyond int64 is stored by its bits
  bool operator==(const Enumeration& other) const = default;
};

// An array in a file, also one that Swath cannot read.
struct Variable {
  std::string path;                 // "ocean/t"; "" if the format holds one array without a name
  Shape shape;                      // in elements
  std::optional<ElementType> type;  // as stored; none if Swath has no such type
  // without their groups, as the variable's group sees them; empty if the file has no names
  std::vector<std::string> dimensions;
  Attributes attributes;        // without those that the format uses itself
  std::optional<Shape> chunks;  // elements of a chunk along each dimension
  // it describes other variables (a coordinate, bounds, a grid mapping), or holds no numbers
  bool is_coordinate = false;
  std::string unsupported;                   // the reason why Swath cannot read it; "" if it can
  std::optional<Shape> shards;               // elements of a shard; a shard is a file of whole chunks
  std::optional<std::vector<Codec>> codecs;  // in the order of encoding; none if Swath does not know all of them
  std::optional<Enumeration> enumeration;
  OtherAttributes other_attributes;
  std::string same_as;  // the path of the variable that this link leads to; "" for a variable of its own
  // HDF5 only: the largest length of each dimension, none for unlimited; empty if no dimension can grow.
  std::vector<std::optional<int64_t>> maxshape;

  std::string group() const;  // the path of its group
  std::string name() const;   // without its group
};

// Cuts the path of a group or variable at its last slash: ("ocean", "t") for "ocean/t", ("", "t") for "t".
std::pair<std::string, std::string> group_and_name(std::string_view path);

class Contents {
 public:
  // `format`: "raw", "npy", "netcdf-classic", "netcdf4", "hdf5" or "zarr"; `version`, for people: "CDF-5", "Zarr 3".
  explicit Contents(std::string format, std::string version = "");

  const std::string& format() const { return format_; }
  const std::string& version() const { return version_; }
  // The file itself is first; each group precedes the groups in it.
  const std::vector<Group>& groups() const { return groups_; }
  // In the order of the file; links come last.
  const std::vector<Variable>& variables() const { return variables_; }
  // By path, descriptions of named types, and of links to groups, to other files, or to nothing.
  const std::map<std::string, std::string>& others() const { return others_; }

  // Returns null if there is no such group. Slashes at both ends are ignored.
  const Group* group(std::string_view path) const;
  const Variable* variable(std::string_view path) const;
  // The dimension that a name means in a group: the group's own, or that of the nearest group above; null if none.
  const Dimension* dimension(std::string_view group, std::string_view name) const;
  // The path of that dimension, "ocean/time"; for a new dimension, the path that it would get.
  std::string path_of(std::string_view group, std::string_view name) const;

  // The code that changes a file also calls these, so the file is not read again. Only `set_length` takes linear time.
  void add(Group group);
  void add(Variable variable);
  // Adds a dimension to a group, or changes its length.
  void set(std::string_view group, Dimension dimension);
  // Changes the length of a dimension (a path), and of all variables along it.
  void set_length(std::string_view dimension, int64_t length);
  // `holder` is a group or a variable.
  void set_attributes(std::string_view holder, const Attributes& changes);
  void set_other(std::string path, std::string words) { others_[std::move(path)] = std::move(words); }

 private:
  std::string format_;
  std::string version_;
  std::vector<Group> groups_;
  std::vector<Variable> variables_;
  std::map<std::string, std::string> others_;
  std::unordered_map<std::string, size_t> group_at_;
  std::unordered_map<std::string, size_t> variable_at_;
};

}  // namespace swath::formats
