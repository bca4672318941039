// Swaps the bytes of elements in memory, for files whose byte order is not this machine's.
#pragma once

#include <cstddef>

#include "formats/element_type.h"
#include "method/local_memory.h"

namespace swath {

// Swaps in place. `type` may have either byte order.
void swap_in_place(const formats::ElementType& type, const LocalMemory& memory);

// Copies all elements of `from` to `into` with their bytes swapped. Both have the same parts.
void copy_swapped(const formats::ElementType& type, const LocalMemory& from, const LocalMemory& into);

}  // namespace swath
