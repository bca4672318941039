// HDF5 files, which netCDF-4 files are, too, as two of the formats.
#pragma once

#include "formats/format.h"

namespace swath::formats::hdf5 {

const Format& format();
const Format& netcdf4_format();

}  // namespace swath::formats::hdf5
