// A whole new HDF5 or netCDF-4 file, and what such a file cannot hold.
#pragma once

#include <string>
#include <vector>

#include "formats/new_array.h"

namespace swath::formats::hdf5 {

// Makes a file with all its groups, dimensions and datasets, whose elements are holes. Throws Error{kStore} with EEXIST
// where the name is taken, {kArgument} for what the format cannot store; nothing is left behind then.
void create_file(const std::string& path, const NewContents& contents, bool is_netcdf4);
// In words, what a file cannot hold of all that.
std::vector<std::string> refusals(const NewContents& contents, bool is_netcdf4);

}  // namespace swath::formats::hdf5
