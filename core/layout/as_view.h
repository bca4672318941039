// Regions in the one form that may be cut at any byte: as a view. A stripe's end may split an element.
#pragma once

#include "layout/regions.h"
#include "layout/view_regions.h"

namespace swath {

// The same bytes and places. Position p of `regions` is data byte p * element_bytes(). Throws Error{kArgument} where it
// would have more levels than a nest may have.
ViewRegions as_view(const Regions& regions);

}  // namespace swath
