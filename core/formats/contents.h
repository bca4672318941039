// What a whole file holds: dimensions, groups, variables and their attributes, in the words that all formats share.
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
  bool is_unlimited = false;  // whether variables may grow along it
  bool operator==(const Dimension& other) const = default;
};

// A folder of variables.
struct Group {
  std::string path;  // "" for the file itself, "ocean/surface" for a group in a group
  Attributes attributes;
  std::vector<Dimension> dimensions;  // defined here; those of the groups above are seen from it, too
  OtherAttributes other_attributes;

  const Dimension* dimension(std::string_view name) const;
};

// A type whose numbers have names, of netCDF-4 and HDF5.
struct Enumeration {
  std::string name;                                      // of the type; "" where it has none of its own
  std::vector<std::pair<std::string, int64_t>> members;  // an unsigned number beyond int64 by its bits
  bool operator==(const Enumeration& other) const = default;
};

// An array in a file, also one that Swath cannot read.
struct Variable {
  std::string path;                     // "ocean/t"; "" where the format holds one array without a name
  Shape shape;                          // in elements
  std::optional<ElementType> type;      // as stored; none where there are no words for it
  std::vector<std::string> dimensions;  // without groups, as seen from its own; empty where the file names none
  Attributes attributes;                // without what a format keeps for itself
  std::optional<Shape> chunks;          // elements of a chunk along each dimension
  bool is_coordinate = false;           // it describes other variables (a coordinate, bounds, a grid mapping), or holds
                                        // no numbers
  std::string unsupported;              // why Swath cannot read it; "" where it can
  std::optional<Shape> shards;          // elements of a shard, which is a file of whole chunks
  std::optional<std::vector<Codec>> codecs;  // in the order of encoding; none where Swath does not know all of them
  std::optional<Enumeration> enumeration;
  OtherAttributes other_attributes;
  std::string same_as;  // the path of the variable that it is a link to; "" for a variable of its own
  // Of HDF5, as long as each dimension may become, none for without end; empty where none ends later than it does now.
  std::vector<std::optional<int64_t>> maxshape;

  std::string group() const;  // the path of its group
  std::string name() const;   // without its group
};

// The path of a group or variable cut at its last slash: ("ocean", "t") of "ocean/t", ("", "t") of "t".
std::pair<std::string, std::string> group_and_name(std::string_view path);

class Contents {
 public:
  // `format`: "raw", "npy", "netcdf-classic", "netcdf4", "hdf5" or "zarr"; `version` for people: "CDF-5", "Zarr 3".
  explicit Contents(std::string format, std::string version = "");

  const std::string& format() const { return format_; }
  const std::string& version() const { return version_; }
  // The file itself first, then each group before the groups in it.
  const std::vector<Group>& groups() const { return groups_; }
  // In the order of the file; those that are links behind the others.
  const std::vector<Variable>& variables() const { return variables_; }
  // In words, by path, what is neither group nor variable: named types, links to groups, into other files, to nothing.
  const std::map<std::string, std::string>& others() const { return others_; }

  // Null where there is none. Slashes at both ends are left out.
  const Group* group(std::string_view path) const;
  const Variable* variable(std::string_view path) const;
  // The dimension that a name means as seen from a group: its own, or that of the nearest group above; null for none.
  const Dimension* dimension(std::string_view group, std::string_view name) const;
  // The path of that dimension, "ocean/time"; of a new one, the path that it would have.
  std::string path_of(std::string_view group, std::string_view name) const;

  // What changes a file changes this, too: nothing is read again. In constant time each, but for `set_length`.
  void add(Group group);
  void add(Variable variable);
  // A dimension that is new in its group, or has another length now.
  void set(std::string_view group, Dimension dimension);
  // A dimension by its path, with all variables that lie along it.
  void set_length(std::string_view dimension, int64_t length);
  // Of a group, or of a variable.
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
