// The ranks of MPI, for whoever opens files with them. Of the library swath_mpi.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/comm.h"

namespace swath {

// Collective. The ranks of an intracommunicator, on a duplicate of it; to be let go of before MPI_Finalize. Throws
// Error{kArgument} where there is no such communicator, or MPI is not running.
std::shared_ptr<Comm> make_mpi_comm(MPI_Comm communicator);

}  // namespace swath
