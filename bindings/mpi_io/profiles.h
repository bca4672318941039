// Profiles of stores (`swath calibrate`), as `swath mpi-io` passes them to the program: the file named by
// SWATH_MPI_IO_PROFILES has a section for each mount point,
//
//   mount /data
//   cache.read 512 1e-06 …      (core/plan/profile_text.h)
#pragma once

#include <string>

namespace swath::mpi_io {

// The section of the store that contains `path`; empty if it was not measured.
std::string profile_text_of(const std::string& path);

}  // namespace swath::mpi_io
