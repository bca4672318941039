// The thread level of MPI in this process.
#pragma once

namespace swath::mpi_io {

// The level that MPI granted: MPI_THREAD_SINGLE, …, MPI_THREAD_MULTIPLE. If MPI was started without MPI_Init (by
// sessions, or before this library was loaded), MPI_Query_thread is called.
int thread_level();

}  // namespace swath::mpi_io
