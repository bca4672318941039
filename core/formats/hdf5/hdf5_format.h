// The formats "hdf5" and "netcdf4"; files of both are HDF5 files.
#pragma once

#include "formats/format.h"

namespace swath::formats::hdf5 {

const Format& format();
const Format& netcdf4_format();

}  // namespace swath::formats::hdf5
