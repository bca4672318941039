// Elements in memory whose bytes are turned round: those of a file of the other byte order than this machine's.
#pragma once

#include <cstddef>
#include <vector>

#include "formats/element_type.h"
#include "method/local_memory.h"

namespace swath {

// In their places. `type`: either of the two.
void swap_in_place(const formats::ElementType& type, const LocalMemory& memory);

// All elements of `from`, turned round, in the places of `into`: the same ones.
void copy_swapped(const formats::ElementType& type, const LocalMemory& from, const LocalMemory& into);

}  // namespace swath
