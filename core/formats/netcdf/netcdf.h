// netCDF classic files as a format of the core: what they hold, made, changed and grown.
#pragma once

#include "formats/format.h"

namespace swath::formats::netcdf {

const Format& classic_format();

}  // namespace swath::formats::netcdf
