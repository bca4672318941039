// Creation of a whole HDF5 or netCDF-4 file, and what such a file cannot contain.
#pragma once

#include <string>
#include <vector>

#include "formats/new_array.h"

namespace swath::formats::hdf5 {

// Makes a file with all its groups, dimensions and datasets; the elements are holes. Throws Error{kStore} with EEXIST
// if the name exists, {kArgument} for what the format cannot store. After an error nothing is left.
void create_file(const std::string& path, const NewContents& contents, bool is_netcdf4);
// Describes what the format cannot store of these contents.
std::vector<std::string> refusals(const NewContents& contents, bool is_netcdf4);

}  // namespace swath::formats::hdf5
