// The nodes of a Zarr store, its groups and arrays: read one by one, or all of them from consolidated metadata.
//
//     Nodes nodes("run.zarr");
//     for (const Node& node : nodes.walk())          // groups before what they hold
//
// Consolidated metadata are copies of all metadata in one file at the root: `.zmetadata` of version 2, and
// `consolidated_metadata` in the `zarr.json` of version 3, as zarr-python writes it. The files of the nodes are the
// truth.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/zarr/fields.h"
#include "formats/zarr/files.h"

namespace swath::zarr {

inline constexpr std::string_view kAllOfV2 = ".zmetadata";
inline constexpr std::string_view kAllOfV3 = "consolidated_metadata";
// The attribute in which xarray keeps the names of dimensions.
inline constexpr std::string_view kDimensionsOfV2 = "_ARRAY_DIMENSIONS";
// The attribute of a group that lists its dimensions that were declared to grow.
//
// Zarr has no such thing: any array can be resized. What was declared must be found again where a file is opened to
// append to, or copied to a format in which it matters. An attribute of a group is what all readers of both versions
// accept and keep (zarr-python refuses other members of a group's metadata). xarray does not show attributes of groups
// whose names begin with _nc, which are netCDF's own; in arrays, it would.
inline constexpr std::string_view kUnlimited = "_nc_unlimited_dimensions";

using Names = std::set<std::string>;

// A group or an array, as its metadata have it.
struct Node {
  std::string path = {};  // the store
  std::string name = {};  // its path in the store; "" for the store itself
  int version = 3;
  bool is_array = false;
  Field metadata = {};    // what `zarr.json`, `.zarray` or `.zgroup` holds
  Field attributes = {};  // of version 2 they have a file of their own

  std::string group() const;       // the name of the group that it lies in
  std::string short_name() const;  // its name in its group
  std::string folder() const;      // where its files are
  Shape shape() const;
  // The names of an array's dimensions, "" for one without a name; none where none is named. Throws Error{kFormat}
  // where there are names, but not one for each.
  std::vector<std::string> dimensions() const;
  // The names of a group's dimensions that were declared to grow.
  Names unlimited() const;
  // The attributes that are the user's, as JSON has them.
  Json::Members own_attributes() const;
  Node with_metadata(Json changed) const;
  Node with_attributes(Json changed) const;
};

// Whether a folder holds a Zarr array or group.
bool is_store(const std::string& path);
// Whether a store can have a node of that name, which may be a path through groups.
bool is_name(std::string_view name);
// Without slashes at both ends.
std::string stripped(std::string_view name);
// Whether an attribute of a group is where Swath, or netCDF's library (NCZarr), stores what it needs.
bool is_own(std::string_view name);
// Whether a group has consolidated metadata, valid or not.
bool is_consolidated(const Node& group);
// The names of dimensions that the groups above an array declare to grow.
Names declared_above(const std::string& path, std::string name);
// "no Zarr store": what to throw where there is no root.
Error no_store(const std::string& path);

// Reads the nodes of one store, and remembers what it has read: a node whose files have not changed since is not read
// again.
class Nodes {
 public:
  explicit Nodes(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // None where there is no node of that name. Throws Error{kFormat} for damaged metadata.
  std::optional<Node> read(const std::string& name);
  // Every node, by name, groups before what they hold. Folders of chunks are not looked into. A group that is a link to
  // one that was found before, such as one that it lies in, is not looked into again.
  std::vector<Node> walk();
  // The nodes that consolidated metadata tell of, where there are valid ones, else those that `walk` finds. Groups come
  // before what they hold.
  std::vector<Node> hierarchy();
  // Files that were read so far, those of consolidated metadata aside.
  int64_t files_read() const { return files_read_; }
  // The arrays that a group holds itself, by name.
  std::vector<Node> arrays_in(const Node& group);

 private:
  static constexpr size_t kFiles = 4;  // zarr.json, .zarray, .zgroup, .zattrs
  using States = std::array<std::optional<FileState>, kFiles>;
  struct Read {
    std::optional<Node> node = {};
    States states = {};
    bool is_lasting = false;  // whether a change since would be seen in the states
  };
  struct Folders {
    std::vector<std::string> names = {};
    std::optional<FileState> state = {};
    bool is_lasting = false;
  };

  States states_of(const std::string& folder) const;
  std::optional<Node> read_anew(const std::string& name);
  const std::vector<std::string>& names_below(const Node& group);

  std::string path_;
  int64_t files_read_ = 0;
  std::unordered_map<std::string, Read> read_ = {};
  std::unordered_map<std::string, Folders> folders_ = {};
};

}  // namespace swath::zarr
