// The nodes of a Zarr store are its groups and arrays. They are read one by one, or all from consolidated metadata.
//
//     Nodes nodes("run.zarr");
//     for (const Node& node : nodes.walk())          // each group precedes its content
//
// Consolidated metadata are copies of all metadata in one file at the root: `.zmetadata` of version 2, and
// `consolidated_metadata` in the `zarr.json` of version 3, as zarr-python writes it. If they differ, the files of the
// nodes are right.
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
// The attribute for the names of dimensions, as xarray writes it.
inline constexpr std::string_view kDimensionsOfV2 = "_ARRAY_DIMENSIONS";
// The attribute of a group that lists its dimensions that were declared to grow.
//
// Zarr has no such concept: every array can be resized. Swath needs the declaration when a file is opened for
// appending, or is copied to a format in which it matters. Readers of both versions accept and keep an attribute of a
// group (zarr-python refuses other members of a group's metadata). xarray hides attributes of groups whose names begin
// with _nc, which are netCDF's own; it would show them for arrays.
inline constexpr std::string_view kUnlimited = "_nc_unlimited_dimensions";

using Names = std::set<std::string>;

// The metadata of a group or an array.
struct Node {
  std::string path = {};  // the store
  std::string name = {};  // its path in the store; "" for the store itself
  int version = 3;
  bool is_array = false;
  Field metadata = {};    // the content of `zarr.json`, `.zarray` or `.zgroup`
  Field attributes = {};  // version 2 has a file for them

  std::string group() const;       // the name of the group above
  std::string short_name() const;  // its name in its group
  std::string folder() const;      // the folder of its files
  Shape shape() const;
  // The names of an array's dimensions, "" for one without a name; empty if none has a name. Throws Error{kFormat} if
  // the number of names is wrong.
  std::vector<std::string> dimensions() const;
  // The names of a group's dimensions that were declared to grow.
  Names unlimited() const;
  // The user's attributes, as JSON.
  Json::Members own_attributes() const;
  Node with_metadata(Json changed) const;
  Node with_attributes(Json changed) const;
};

// Whether a folder has a Zarr array or group.
bool is_store(const std::string& path);
// Whether a store can have a node of that name, which may be a path through groups.
bool is_name(std::string_view name);
// Removes slashes at both ends.
std::string stripped(std::string_view name);
// Whether Swath, or netCDF's library (NCZarr), uses this attribute of a group for its own data.
bool is_own(std::string_view name);
// Whether a group has consolidated metadata, valid or not.
bool is_consolidated(const Node& group);
// The names of dimensions that the groups above an array declare to grow.
Names declared_above(const std::string& path, std::string name);
// The error "no Zarr store", for a missing root.
Error no_store(const std::string& path);

// Reads the nodes of one store, and caches them: a node is not read again while its files do not change.
class Nodes {
 public:
  explicit Nodes(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Returns none if there is no node of that name. Throws Error{kFormat} for damaged metadata.
  std::optional<Node> read(const std::string& name);
  // All nodes by name; each group precedes its content. Folders of chunks are skipped. A link to a group that was found
  // already, for example to one above, is not followed.
  std::vector<Node> walk();
  // The nodes of valid consolidated metadata, or else those that `walk` finds. Each group precedes its content.
  std::vector<Node> hierarchy();
  // The number of files read so far, without those of consolidated metadata.
  int64_t files_read() const { return files_read_; }
  // The arrays directly in a group, by name.
  std::vector<Node> arrays_in(const Node& group);

 private:
  static constexpr size_t kFiles = 4;  // zarr.json, .zarray, .zgroup, .zattrs
  using States = std::array<std::optional<FileState>, kFiles>;
  struct Read {
    std::optional<Node> node = {};
    States states = {};
    bool is_lasting = false;  // a later change would show in the states
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
