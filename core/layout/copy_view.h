// Copies the bytes of a view: traverses two nests side by side, row by row where both are regular.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/copy.h"
#include "layout/view_regions.h"

namespace swath {

// Like the functions of copy.h, for positions [first, last), first < last.
void gather_view(const ViewRegions& regions, int64_t first, int64_t last, FileWindow<const std::byte> window,
                 std::byte* memory, const Lanes& lanes);
void scatter_view(const ViewRegions& regions, int64_t first, int64_t last, FileWindow<std::byte> window,
                  const std::byte* memory, const Lanes& lanes);
void copy_view_between_windows(const ViewRegions& regions, int64_t first, int64_t last, std::byte* target,
                               const std::byte* source, int64_t window_offset);

}  // namespace swath
