// Bytes of a view that does not ascend, or has bytes twice: moved one after another in the view's own order, which no
// plan knows how to change. MPI lets such views be read, and nobody is kept from writing them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/file.h"
#include "base/counters.h"
#include "base/direction.h"
#include "space/nest.h"

namespace swath::mpi_io {

struct InFile {
  Direction direction;
  Nest nest;
  int64_t first;  // data bytes [first, first + bytes)
  int64_t bytes;
};
struct InMemory {
  Nest nest;
  std::byte* address;
};

// Returns how many were moved: of a read those before the first that lies beyond the end of the file.
int64_t move_in_view_order(File& file, const InFile& in_file, const InMemory& in_memory, Counters& counters);

}  // namespace swath::mpi_io
