// One rank's memory for an operation: where its elements come from or go to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "layout/access.h"
#include "space/decomposition.h"

namespace swath {

// One base address and one set of strides a part (see Part::memory_origin).
struct LocalMemory {
  // A view, and the positions of its bytes relative to the single address.
  struct ViewInMemory {
    View view;
    MemoryNest memory;
  };

  std::vector<Part> parts;  // the parts of the plan's decomposition for this rank, with strides of the caller's memory
  std::vector<std::byte*> addresses;  // one a part
  bool is_packed = true;              // each part is contiguous, in C order
  std::optional<ViewInMemory> view;   // in place of parts
};

Access access_of(const Layout& layout, const LocalMemory& memory);
// The bytes from the first to the last element of a part; the maximum over the parts.
int64_t span_of(const LocalMemory& memory, int64_t element_bytes);

// The parts of `rank` one after another from `data` on, each in C order; or its view.
LocalMemory packed_memory(const Decomposition& decomposition, int rank, int64_t element_bytes, void* data);

}  // namespace swath
