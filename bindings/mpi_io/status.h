// Sets the number of bytes that a call moved in MPI's status.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace swath::mpi_io {

// MPI_Get_count and MPI_Get_elements convert it to any datatype.
inline void set_bytes(MPI_Status* status, int64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  MPI_Status_set_elements_x(status, MPI_BYTE, bytes);  // MPICH 4.0 has no _c
  MPI_Status_set_cancelled(status, 0);
}

}  // namespace swath::mpi_io
