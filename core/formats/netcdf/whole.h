// The header of a whole new netCDF classic file, and what such a file cannot hold. Pure.
#pragma once

#include <string>
#include <vector>

#include "formats/netcdf/header.h"
#include "formats/new_array.h"

namespace swath::formats::netcdf {

struct WholeHeader {
  Header header = {};                      // with what it can hold, each variable in its place
  std::vector<std::string> refusals = {};  // in words, what it cannot

  static WholeHeader of(const NewContents& contents);
};

// By the name that a format gives it: "cdf1", "cdf2", "cdf5"; "" is CDF-5.
int version_of(const std::string& flavour);

}  // namespace swath::formats::netcdf
