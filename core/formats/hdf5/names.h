// Names in HDF5 files: paths, encodings, and a prefix of netCDF-4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace swath::formats::hdf5 {

// netCDF-4's prefix of a variable that has the name of a dimension, but is not along this dimension.
inline constexpr std::string_view kOtherName = "_nc4_non_coord_";

// A path in the file as UTF-8; a name that is not UTF-8 is taken as Latin-1.
std::string path_text(std::string_view stored);
// The possible bytes of a name in a file: UTF-8, and Latin-1 if it is possible and differs.
std::vector<std::string> encodings(const std::string& name);

std::string joined(std::string_view group, std::string_view name);
// The name of a dataset for users: the path "/g/_nc4_non_coord_x" is "g/x".
std::string shown_name(std::string_view stored);
// Whether HDF5 can have a dataset of that name, which may be a path through groups.
bool is_name(std::string_view name);

}  // namespace swath::formats::hdf5
