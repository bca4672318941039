// How many threads of this process MPI serves.
#pragma once

namespace swath::mpi_io {

// What MPI granted: MPI_THREAD_SINGLE, …, MPI_THREAD_MULTIPLE. A program that MPI was started by without MPI_Init (by
// sessions, or before this library was there) is asked for by MPI_Query_thread.
int thread_level();

}  // namespace swath::mpi_io
