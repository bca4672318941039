#include "formats/hdf5/whole.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "formats/choose.h"
#include "formats/contents.h"
#include "formats/files.h"
#include "formats/hdf5/changed_file.h"
#include "formats/hdf5/chunk_room.h"
#include "formats/hdf5/names.h"
#include "formats/hdf5/new_dataset.h"
#include "formats/hdf5/new_storage.h"
#include "formats/hdf5/reading.h"
#include "formats/hdf5/write_attributes.h"
#include "formats/refusals.h"
#include "journal/changes.h"

namespace swath::formats::hdf5 {
namespace {

using Groups = std::map<std::string, const Group*>;

Groups by_path(const NewContents& contents) {
  Groups found;
  for (const Group& group : contents.groups) found[group.path] = &group;
  return found;
}

// The dimension that a name means in a group; null if none.
const Dimension* dimension_seen(const Groups& groups, std::string group, const std::string& name) {
  for (;; group = group_and_name(group).first) {
    const auto here = groups.find(group);
    const Dimension* found = here == groups.end() ? nullptr : here->second->dimension(name);
    if (found != nullptr || group.empty()) return found;
  }
}

// ---- Making ---------------------------------------------------------------------------------------------------------

// Records which program made the file, as netCDF-4 requires.
void mark_as_netcdf4(const OpenFile& file, DimensionState& state) {
  const std::string says = "version=2,swath=" SWATH_VERSION ",hdf5=" + library().version.to_string();
  write_fixed_text(Handle(library().H5Oopen(file.id(), "/", H5P_DEFAULT)).get(), "_NCProperties", says);
  state.is_netcdf4 = true;
  state.next_number = 0;
}

// The bytes of a chunk that is allocated before it is written; 0 if no chunk is.
int64_t reserved_chunk_bytes(const NewArray& array, const std::optional<Shape>& chunks) {
  const bool has_codecs = array.codecs && !array.codecs->empty();
  if (!array.chunks || has_codecs || !array.may_grow() || array.type.is_text()) return 0;
  return element_count(*chunks) * array.type.bytes;
}

// Allocates the chunks of a dataset that grows and is not coded. They are holes, which the caller writes; but a chunk
// that the dataset does not fill gets the fill value, for the time when the dataset grows.
void reserve_chunks(ChangedFile& changed, const MadeDataset& made, const NewArray& array, const Shape& chunks) {
  const int64_t bytes = reserved_chunk_bytes(array, chunks);
  if (bytes == 0) return;
  const BlankMemory blank(bytes);
  JournalledFile& stored = changed.stored();
  stored.set_blank(blank.address());
  const bool has_fill =
      made.fill && std::any_of(made.fill->begin(), made.fill->end(), [](auto b) { return b != std::byte{0}; });
  std::vector<std::byte> filled;
  for_each_chunk(made.seen.shape, chunks, [&](const Shape& first) {
    bool is_cut = false;
    for (size_t d = 0; d < first.size(); ++d) is_cut = is_cut || first[d] + chunks[d] > made.seen.shape[d];
    if (is_cut && has_fill && filled.empty()) filled = repeated(*made.fill, element_count(chunks));
    write_chunk(made.dataset.get(), first, 0, bytes, is_cut && has_fill ? filled.data() : blank.address());
  });
  stored.set_blank(nullptr);
  stored.take_blank_ranges();
}

// Makes the contents of an open file. Returns the length that the file must have.
int64_t make_contents(ChangedFile& changed, const OpenFile& file, const NewContents& contents, bool is_netcdf4) {
  DimensionState state{.is_netcdf4 = false, .next_number = std::nullopt};
  if (is_netcdf4) mark_as_netcdf4(file, state);
  Scales scales(file, state);
  for (const Group& group : contents.groups) {
    make_groups(file, group.path);
    for (const Dimension& one : group.dimensions) scales.define(group.path, one.name, one.length, one.is_unlimited);
  }
  std::vector<std::pair<std::optional<std::string>, Seen>> made;
  for (const NewArray& array : contents.arrays) {
    refuse_other_orders(array, "HDF5");
    const std::optional<Shape> chunks = chunks_of_new(array);
    const MadeDataset dataset = make_dataset(file, scales, array, chunks);
    if (chunks) reserve_chunks(changed, dataset, array, *chunks);
    made.emplace_back(without_slashes(array.path()), dataset.seen);
  }
  for (const Group& group : contents.groups) {
    const Handle item = item_at(file, group.path);
    write_attributes({item.get(), group.path, nullptr}, group.attributes, is_netcdf4);
  }
  int64_t end = 0;
  for (const auto& [name, seen] : made) {
    end = std::max(end, describe_open(file, {name}, {{*name, seen}}).front().end);
  }
  return end;
}

}  // namespace

void create_file(const std::string& path, const NewContents& contents, bool is_netcdf4) {
  FreshFile fresh(path);
  Changes changes(path, {.is_durable = false});
  int64_t end = 0;
  {
    ChangedFile changed(changes, ChangedFile::Start::kEmpty);
    changed.change([&](const OpenFile& file) { end = make_contents(changed, file, contents, is_netcdf4); });
  }
  fresh.extend(end);
  changes.commit();
  fresh.keep();
}

// ---- What it cannot hold --------------------------------------------------------------------------------------------

namespace {

class Refusals {
 public:
  Refusals(const NewContents& contents, bool is_netcdf4)
      : contents_(contents), groups_(by_path(contents)), is_netcdf4_(is_netcdf4) {}

  std::vector<std::string> find() {
    for (const Group& group : contents_.groups) {
      const std::string where = group.path.empty() ? "" : "group " + group.path;
      if (!group.path.empty()) attempt(where, [&] { check_name(group.path); });
      check_attributes(where, group.attributes);
    }
    for (const NewArray& array : contents_.arrays) check_array(array);
    return std::move(found_);
  }

 private:
  template <typename Check>
  void attempt(const std::string& what, const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      const bool is_refusal =
          error.kind() == ErrorKind::kArgument || error.kind() == ErrorKind::kUnsupported || error.os_error() == EEXIST;
      if (!is_refusal) throw;
      found_.push_back(what.empty() ? error.what() : what + ": " + error.what());
    }
  }

  static void check_name(const std::string& name) {
    if (!is_name(name)) fail_argument("HDF5 allows no name '" + name + "'");
  }

  void check_attributes(const std::string& where, const Attributes& attributes) {
    for (const auto& [name, value] : attributes.entries()) {
      attempt((where.empty() ? "" : where + ": ") + "attribute " + name,
              [&] { check_attribute(name, value, is_netcdf4_); });
    }
  }

  void check_array(const NewArray& array) {
    const std::string name = array.path();
    attempt(name, [&] { check_name(name); });
    attempt(name, [&] { refuse_other_orders(array, "HDF5"); });
    attempt(name, [&] { check_stored_type(array.type, is_netcdf4_); });
    attempt(name, [&] {
      codecs_of_new(array);
      chunks_of_new(array);
    });
    attempt(name, [&] { check_dimensions(array); });
    check_attributes(name, array.attributes);
  }

  void check_dimensions(const NewArray& array) const {
    const auto [group, name] = group_and_name(without_slashes(array.path()));
    const std::vector<std::string> names = array.dimensions.value_or(std::vector<std::string>{});
    for (const std::string& dimension : names) {
      const bool is_good = is_name(dimension) && dimension.find('/') == std::string::npos;
      if (is_good || (dimension.empty() && !is_netcdf4_)) continue;
      fail_argument("HDF5 allows no dimension '" + dimension + "'; expected a name without slashes");
    }
    for (size_t axis = 0; axis < names.size() && axis < array.shape.size(); ++axis) {
      const Dimension* seen = dimension_seen(groups_, group, names[axis]);
      if (seen == nullptr || seen->is_unlimited || seen->length == array.shape[axis]) continue;
      fail_argument("it has " + std::to_string(array.shape[axis]) + " elements along dimension " + names[axis] +
                    ", whose length is " + std::to_string(seen->length));
    }
    const auto own = groups_.find(group);
    const bool is_dimension = own != groups_.end() && own->second->dimension(name) != nullptr;
    if (!is_netcdf4_ && is_dimension && names != std::vector<std::string>{name}) {
      fail_argument("there is a dimension " + name +
                    ", too, and in an HDF5 file both are one dataset; netCDF-4 can hold them");
    }
  }

  const NewContents& contents_;
  const Groups groups_;
  const bool is_netcdf4_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> refusals(const NewContents& contents, bool is_netcdf4) {
  const Session session;
  std::vector<std::string> found;
  translate_errors("new file", "create", [&] { found = Refusals(contents, is_netcdf4).find(); });
  return found;
}

}  // namespace swath::formats::hdf5
