// Converts regions to a view, which may be cut at any byte: the end of a stripe may split an element.
#pragma once

#include "layout/regions.h"
#include "layout/view_regions.h"

namespace swath {

// The same bytes and places. Position p of `regions` is data byte p * element_bytes(). Throws Error{kArgument} if the
// nest would have too many levels.
ViewRegions as_view(const Regions& regions);

}  // namespace swath
