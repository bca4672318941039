// Transfers of views that do not ascend or contain bytes twice: byte by byte, in view order, since plans do not support
// them. MPI allows reads by such views, and does not prevent writes.
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

// Returns the bytes moved; a read stops at the first byte beyond the end of the file.
int64_t move_in_view_order(File& file, const InFile& in_file, const InMemory& in_memory, Counters& counters);

}  // namespace swath::mpi_io
