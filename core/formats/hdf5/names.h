// Names in HDF5 files: paths, their encodings, and what netCDF-4 puts before some of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace swath::formats::hdf5 {

// What netCDF-4 puts before the name of a variable whose name a dimension has, along which it does not lie.
inline constexpr std::string_view kOtherName = "_nc4_non_coord_";

// A path in the file as UTF-8: each of its names may be UTF-8, or Latin-1 where it is no UTF-8.
std::string path_text(std::string_view stored);
// The bytes that a file may have for a name: UTF-8, and Latin-1 where that is possible and differs.
std::vector<std::string> encodings(const std::string& name);

std::string joined(std::string_view group, std::string_view name);
// What a dataset is called: the path "/g/_nc4_non_coord_x" in the file is "g/x".
std::string shown_name(std::string_view stored);
// Whether HDF5 can have a dataset of that name, which may be a path through groups.
bool is_name(std::string_view name);

}  // namespace swath::formats::hdf5
