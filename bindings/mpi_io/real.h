// The functions of the loaded MPI itself. A backend calls functions of the stub (functions.h) only through these: by
// name the call would reach the stub, and then the backend again.
#pragma once

#include <mpi.h>

#include "mpi_io/large_count.h"

namespace swath::mpi_io {

// Each function as its PMPI_ form: real().File_open(...). Functions with large counts always exist: if the MPI lacks
// them, they call the int form, and a larger count is MPI_ERR_COUNT. Other functions that the MPI lacks are null.
struct Real {
#define SWATH_MPI_FUNCTION(name) decltype(&PMPI_##name) name = nullptr;
#define SWATH_MPI_LARGE_FUNCTION(name) LargeCount<decltype(&PMPI_##name)> name##_c = nullptr;
#include "mpi_io/functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_LARGE_FUNCTION
};

// `libmpi` is a handle of dlopen. Threads may call it at the same time; the first call loads.
void load_real(void* libmpi);

// Requires load_real().
const Real& real();
// A symbol of the loaded libmpi; null if it does not exist.
void* real_symbol(const char* name);
bool has_real(const char* name);  // "MPI_File_open"

}  // namespace swath::mpi_io
