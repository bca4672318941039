// New datasets and groups in a file that is changed: their types, their room, their dimensions, their attributes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "formats/format.h"
#include "formats/hdf5/objects.h"
#include "formats/hdf5/scales.h"
#include "formats/new_array.h"

namespace swath::formats::hdf5 {

// Properties to create a dataset with: the same array makes the same bytes at any time, and the order of attributes is
// noted.
Handle dataset_properties();
// Properties to make a link with: its name is UTF-8.
Handle link_properties();
// The bytes of the path of something new in a group, "" for the file.
std::string path_of_new(const OpenFile& file, const std::string& group, const std::string& name);

// Makes a group, "" for none, and those that it is in; each notes in which order things are made in it. Throws
// Error{kArgument} where something that is no group has such a name.
void make_groups(const OpenFile& file, const std::string& name);

struct MadeDataset {
  Handle dataset;
  std::optional<std::vector<std::byte>> fill;  // what its elements are that nobody writes; none: zeros
  Seen seen;                                   // as it is described
};

// Makes a dataset with what it needs. `chunks`: none for a contiguous one. Throws what FormatFile::add() does.
MadeDataset make_dataset(const OpenFile& file, Scales& scales, const NewArray& array,
                         const std::optional<Shape>& chunks);

// Throws Error{kArgument} where the format has no such name, path or type.
void check_dataset_name(const std::string& name);
void check_stored_type(const ElementType& type, bool is_netcdf4);
void check_dimension_name(const std::string& name, bool is_netcdf4);

}  // namespace swath::formats::hdf5
