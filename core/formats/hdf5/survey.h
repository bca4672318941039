// What a whole HDF5 file holds, as HDF5 says it and as netCDF-4 sees it: found by its metadata alone.
//
// Dimension scales are HDF5's named dimensions, and netCDF-4's. A dimension is a dataset that is a scale, of the
// dimension's name: it is the coordinate variable of that name, or holds nothing and is there for its name and length
// only. A variable lists the scales of its dimensions in DIMENSION_LIST. netCDF-4 numbers its dimensions
// (_Netcdf4Dimid) and notes the numbers of a variable's (_Netcdf4Coordinates): a coordinate variable of several
// dimensions, which is a scale and so can have none, has them from there alone. All this is read from the attributes:
// HDF5's own calls for scales crash or hang where one is damaged.
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

// How NAME begins of the datasets that netCDF-4 makes for dimensions without a coordinate variable.
inline constexpr std::string_view kDimensionOnly = "This is a netCDF dimension but not a netCDF variable";

// Whether a dataset is there for a dimension's name and length only.
bool is_dimension_only(hid_t dataset);
bool is_scale(hid_t dataset);
// The number that netCDF-4 has given to a scale's dimension.
std::optional<int64_t> number_of_scale(hid_t dataset);
// Whether netCDF-4 stores what it needs in the file.
bool is_netcdf4(const OpenFile& file);

// Everything that an open file holds but the elements. A dimension is a dimension scale; where none is attached, the
// label of HDF5 names it, or nothing: "".
Contents survey(const OpenFile& file);

// The shape of a dataset as netCDF-4 sees it, and the names of its dimensions. Where it has dimension scales all
// datasets of the file are looked at, once as long as the file is not written to: HDF5 finds the name of one scale by
// looking at all that the file holds.
Seen shape_and_dimensions(const OpenFile& file, hid_t dataset);
// How often this process has looked at all datasets of a file for that: for tests.
int64_t survey_count();

}  // namespace swath::formats::hdf5
