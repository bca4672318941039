// One rank's memory for an operation: where its elements come from or go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "space/decomposition.h"

namespace swath {

// One base address and one set of strides a part (see Part::memory_origin).
struct LocalMemory {
  std::vector<Part> parts;            // those of the plan's decomposition for this rank, placed in the caller's memory
  std::vector<std::byte*> addresses;  // one a part
  bool is_packed = true;              // each part as it would lie by itself, in C order
};

// The parts of `rank` one behind the other from `data` on, each in C order.
LocalMemory packed_memory(const Decomposition& decomposition, int rank, int64_t element_bytes, void* data);

}  // namespace swath
