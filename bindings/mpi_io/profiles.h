// What was measured of the stores that files lie on (`swath calibrate`), as `swath mpi-io` hands it to the program: the
// file that SWATH_MPI_IO_PROFILES names has a section a mount point,
//
//   mount /data
//   cache.read 512 1e-06 …      (core/plan/profile_text.h)
#pragma once

#include <string>

namespace swath::mpi_io {

// The section of the store that `path` lies on; empty where none was measured.
std::string profile_text_of(const std::string& path);

}  // namespace swath::mpi_io
