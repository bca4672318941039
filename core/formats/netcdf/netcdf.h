// netCDF classic files as a format of the core: reading, creation, changes and growth.
#pragma once

#include "formats/format.h"

namespace swath::formats::netcdf {

const Format& classic_format();

}  // namespace swath::formats::netcdf
