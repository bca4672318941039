// What MPI's local calls say of a datatype, by whichever the loaded MPI has. A backend may be compiled with the headers
// of an MPI-4 and run with a library of MPI-3.1 that has the same ABI: MPICH's is that of MPICH 3, MVAPICH2 and Intel
// MPI.
//
// MPI 4 tells everything in one form; before it there is the form of int alone, and an MPI-4 of MPICH ends the program
// where that is asked about a type with large counts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

namespace swath::mpi_io {

struct Envelope {
  int64_t ints = 0;
  int64_t addresses = 0;
  int64_t large_counts = 0;
  int64_t types = 0;
  int combiner = 0;
};

struct Contents {
  std::span<int> ints;
  std::span<MPI_Aint> addresses;
  std::span<MPI_Count> large_counts;
  std::span<MPI_Datatype> types;
};

// Each returns MPI's error code.
int get_envelope(MPI_Datatype type, Envelope& envelope);
int get_contents(MPI_Datatype type, const Contents& contents);
int get_extent(MPI_Datatype type, MPI_Count* lower_bound, MPI_Count* extent);
int get_size(MPI_Datatype type, MPI_Count* size);

}  // namespace swath::mpi_io
