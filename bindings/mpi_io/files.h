// The served files, by MPI's handles. MPI serves all others.
#pragma once

#include <mpi.h>

#include <memory>

#include "mpi_io/file.h"

namespace swath::mpi_io {

// Null if MPI serves the file, or if the handle is invalid.
std::shared_ptr<ServedFile> served_file(MPI_File file);
void add_served(std::shared_ptr<ServedFile> file);
void remove_served(MPI_File file);

}  // namespace swath::mpi_io
