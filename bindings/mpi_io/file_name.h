// Names of files, as programs give them to MPI.
#pragma once

#include <string>

namespace swath::mpi_io {

// The path of "ufs:/data/x": ROMIO's names may begin with the file system.
std::string without_file_system(const std::string& name);

}  // namespace swath::mpi_io
