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
  // A view, and where its bytes are, counted from the one address.
  struct ViewInMemory {
    View view;
    MemoryNest memory;
  };

  std::vector<Part> parts;            // those of the plan's decomposition for this rank, placed in the caller's memory
  std::vector<std::byte*> addresses;  // one a part
  bool is_packed = true;              // each part as it would lie by itself, in C order
  std::optional<ViewInMemory> view;   // in place of parts
};

Access access_of(const Layout& layout, const LocalMemory& memory);
// From the first byte that it has to one past the last, of the part where that is most.
int64_t span_of(const LocalMemory& memory, int64_t element_bytes);

// The parts of `rank` one behind the other from `data` on, each in C order; or its view.
LocalMemory packed_memory(const Decomposition& decomposition, int rank, int64_t element_bytes, void* data);

}  // namespace swath
