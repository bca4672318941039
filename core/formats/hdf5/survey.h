// The contents of a whole HDF5 file, from its metadata alone, as HDF5 and netCDF-4 define them.
//
// Dimension scales are the named dimensions of HDF5 and netCDF-4. A scale is a dataset with the name of its dimension:
// it is the coordinate variable of that name, or it holds nothing and exists for the dimension's name and length only.
// A variable lists the scales of its dimensions in DIMENSION_LIST. netCDF-4 numbers its dimensions (_Netcdf4Dimid), and
// records the numbers of a variable's dimensions (_Netcdf4Coordinates): a coordinate variable of several dimensions is
// a scale, so it can have no scales, and only this attribute has its dimensions. This code reads the attributes itself:
// HDF5's own calls for scales crash or hang if a scale is damaged.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/contents.h"
#include "formats/format.h"
#include "formats/hdf5/dataset.h"
#include "formats/hdf5/objects.h"

namespace swath::formats::hdf5 {

// The begin of NAME for the datasets that netCDF-4 makes for dimensions without a coordinate variable.
inline constexpr std::string_view kDimensionOnly = "This is a netCDF dimension but not a netCDF variable";

// Whether a dataset exists only for a dimension's name and length.
bool is_dimension_only(hid_t dataset);
bool is_scale(hid_t dataset);
// The number that netCDF-4 gave to a scale's dimension.
std::optional<int64_t> number_of_scale(hid_t dataset);
// Whether the file has netCDF-4's own attributes.
bool is_netcdf4(const OpenFile& file);

// The contents of an open file without the elements. A dimension is a dimension scale; without a scale, its name is
// HDF5's label, or "".
Contents survey(const OpenFile& file);

// The shape of a dataset and the names of its dimensions, as netCDF-4 defines them. If it has dimension scales, this
// reads the metadata of all datasets of the file, and caches them until the file is written: HDF5 finds the name of one
// scale only by a search through the whole file.
Seen shape_and_dimensions(const OpenFile& file, hid_t dataset);
// How often this process has read all datasets of a file for that: for tests.
int64_t survey_count();

}  // namespace swath::formats::hdf5
