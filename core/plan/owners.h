// Which ranks have elements in a range of the file, without a visit to every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/layout.h"
#include "space/decomposition.h"

namespace swath {

// The ranks that may have an element that starts in [begin, end) of the file, ascending: all that have one, and perhaps
// others. Of a distribution over a layout of one panel they are computed from the range; otherwise they are all ranks.
std::vector<int> owners_in(const Layout& layout, const Decomposition& decomposition, int64_t begin, int64_t end);

}  // namespace swath
