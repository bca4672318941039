// The ranks of MPI: make_mpi_comm(MPI_COMM_WORLD). Requires the CMake target Swath::mpi, which is built for one MPI.
#pragma once

#include "comm/mpi_ranks.h"
