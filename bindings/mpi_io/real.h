// The functions of the MPI that the process has loaded, as that MPI defines them. A backend calls what the stub defines
// (functions.h) through these only: by its name it would reach the stub, and then itself.
#pragma once

#include <mpi.h>

#include "mpi_io/large_count.h"

namespace swath::mpi_io {

// Each function as its PMPI_ form: real().File_open(...). Those with large counts are there whatever the MPI: where it
// has none, they call the form with an int, and a greater count is MPI_ERR_COUNT. What else the loaded MPI has not is
// null.
struct Real {
#define SWATH_MPI_FUNCTION(name) decltype(&PMPI_##name) name = nullptr;
#define SWATH_MPI_LARGE_FUNCTION(name) LargeCount<decltype(&PMPI_##name)> name##_c = nullptr;
#include "mpi_io/functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_LARGE_FUNCTION
};

// `libmpi` is of dlopen. Threads may call it at the same time; the first one does it.
void load_real(void* libmpi);

// After load_real.
const Real& real();
// Of the loaded libmpi, whatever it is; null where there is none.
void* real_symbol(const char* name);
bool has_real(const char* name);  // "MPI_File_open"

}  // namespace swath::mpi_io
