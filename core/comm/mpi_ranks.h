// The ranks of MPI, for programs that open files with them. Part of the library swath_mpi.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/comm.h"

namespace swath {

// Collective. The ranks of an intracommunicator, on a duplicate of it; to be destroyed before MPI_Finalize. Throws
// Error{kArgument} if there is no such communicator, or if MPI is not running.
std::shared_ptr<Comm> make_mpi_comm(MPI_Comm communicator);

}  // namespace swath
