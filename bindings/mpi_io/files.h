// The files that are served, by MPI's own handles. What is not among them is MPI's.
#pragma once

#include <mpi.h>

#include <memory>

#include "mpi_io/file.h"

namespace swath::mpi_io {

// Null where MPI serves it, or it is no file.
std::shared_ptr<ServedFile> served_file(MPI_File file);
void add_served(std::shared_ptr<ServedFile> file);
void remove_served(MPI_File file);

}  // namespace swath::mpi_io
