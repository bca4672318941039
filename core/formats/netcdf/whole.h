// The header of a whole new netCDF classic file, and what such a file cannot contain. Pure.
#pragma once

#include <string>
#include <vector>

#include "formats/netcdf/header.h"
#include "formats/new_array.h"

namespace swath::formats::netcdf {

struct WholeHeader {
  Header header = {};                      // all that the format can contain, with the offset of each variable
  std::vector<std::string> refusals = {};  // a description of each thing that the format cannot contain

  static WholeHeader of(const NewContents& contents);
};

// The version by the format's name for it: "cdf1", "cdf2", "cdf5"; "" is CDF-5.
int version_of(const std::string& flavour);

}  // namespace swath::formats::netcdf
