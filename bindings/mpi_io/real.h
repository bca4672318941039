// The functions of the MPI that the process has loaded, as that MPI defines them. A backend calls what the stub defines
// (functions.h) through these only: by its name it would reach the stub, and then itself.
#pragma once

#include <mpi.h>

namespace swath::mpi_io {

// Each function as its PMPI_ form: real().File_open(...). Null where the MPI that is loaded is older than the one that
// the backend was built with and has none; what it never had in the headers at hand has no member.
struct Real {
#define SWATH_MPI_FUNCTION(name) decltype(&PMPI_##name) name = nullptr;
#if MPI_VERSION >= 4
#define SWATH_MPI_4_FUNCTION(name) SWATH_MPI_FUNCTION(name)
#else
#define SWATH_MPI_4_FUNCTION(name)
#endif
#include "mpi_io/functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_4_FUNCTION
};

// `libmpi` is of dlopen. Threads may call it at the same time; the first one does it.
void load_real(void* libmpi);

// After load_real.
const Real& real();
bool has_real(const char* name);  // "MPI_File_open"

}  // namespace swath::mpi_io
