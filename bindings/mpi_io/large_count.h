// The types of MPI's functions with large counts: int MPI_File_read_c(MPI_File, void*, MPI_Count, MPI_Datatype,
// MPI_Status*) from MPI_File_read. Derived from the latter, since headers before MPI-4 lack the former.
#pragma once

#include <mpi.h>

namespace swath::mpi_io {

template <typename Function>
struct LargeCountOf;

// Buffer: void* or const void*; Result: MPI_Status* or MPI_Request*; none if the call begins an operation.
template <typename Buffer, typename... Result>
struct LargeCountOf<int (*)(MPI_File, Buffer, int, MPI_Datatype, Result...)> {
  using Type = int (*)(MPI_File, Buffer, MPI_Count, MPI_Datatype, Result...);
};

template <typename Buffer, typename... Result>
struct LargeCountOf<int (*)(MPI_File, MPI_Offset, Buffer, int, MPI_Datatype, Result...)> {
  using Type = int (*)(MPI_File, MPI_Offset, Buffer, MPI_Count, MPI_Datatype, Result...);
};

template <>
struct LargeCountOf<int (*)(MPI_File, MPI_Datatype, MPI_Aint*)> {
  using Type = int (*)(MPI_File, MPI_Datatype, MPI_Count*);
};

template <typename Function>
using LargeCount = typename LargeCountOf<Function>::Type;

}  // namespace swath::mpi_io
