// Local MPI calls that describe a datatype, in the form that the loaded MPI has. A backend may be compiled with the
// headers of an MPI-4 and run with an MPI-3.1 library of the same ABI: MPICH's is that of MPICH 3, MVAPICH2 and Intel
// MPI.
//
// MPI 4 has one form for all types; before it there is only the int form, and MPICH's MPI-4 ends the program if that
// form is called for a type with large counts.
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
