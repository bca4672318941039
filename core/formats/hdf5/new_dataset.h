// New datasets and groups in a file that is changed: their types, storage, dimensions and attributes.
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

// Properties of a new dataset: the same array always gives the same bytes, and the order of attributes is recorded.
Handle dataset_properties();
// Properties of a new link: its name is UTF-8.
Handle link_properties();
// The bytes of the path of a new object in a group; "" is the file.
std::string path_of_new(const OpenFile& file, const std::string& group, const std::string& name);

// Makes a group ("" makes none) and the groups above it; each records the order in which its objects are made. Throws
// Error{kArgument} if an object that is no group has such a name.
void make_groups(const OpenFile& file, const std::string& name);

struct MadeDataset {
  Handle dataset;
  std::optional<std::vector<std::byte>> fill;  // the value of elements that are not written; none: zeros
  Seen seen;                                   // the shape and dimensions for its description
};

// Makes a dataset with its dimensions and attributes; contiguous without `chunks`. Throws what FormatFile::add()
// throws.
MadeDataset make_dataset(const OpenFile& file, Scales& scales, const NewArray& array,
                         const std::optional<Shape>& chunks);

// Throws Error{kArgument} if the format does not allow the name, path or type.
void check_dataset_name(const std::string& name);
void check_stored_type(const ElementType& type, bool is_netcdf4);
void check_dimension_name(const std::string& name, bool is_netcdf4);

}  // namespace swath::formats::hdf5
