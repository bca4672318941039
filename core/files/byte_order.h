// Elements in memory whose bytes are turned round: those of a file of the other byte order than this machine's.
#pragma once

#include <cstddef>

#include "formats/element_type.h"
#include "method/local_memory.h"

namespace swath {

// In their places. `type`: of either byte order.
void swap_in_place(const formats::ElementType& type, const LocalMemory& memory);

// Copies all elements of `from`, turned round, into `into`, whose parts have the same elements.
void copy_swapped(const formats::ElementType& type, const LocalMemory& from, const LocalMemory& into);

}  // namespace swath
