// A false MPI: each function remembers that it was called, and returns a number made of all its arguments.
//   AS_MPICH               the stub takes it for MPICH
//   WITHOUT_LARGE_COUNTS   it is older than MPI-4; and takes six arguments only
//   WITHOUT_IREAD_AT_ALL   it is older than MPI-3.1

static __thread const char* called = "";

const char* fake_mpi_called(void) { return called; }

#ifdef AS_MPICH
void MPIR_Dup_fn(void) {}
#endif

#ifdef WITHOUT_LARGE_COUNTS
#define BEHIND_THE_SIXTH 0
#define SWATH_MPI_LARGE_FUNCTION(name)
#else
#define BEHIND_THE_SIXTH (7 * g + 8 * h + (long)(1000 * x + 10000 * y))
#define SWATH_MPI_LARGE_FUNCTION(name) SWATH_MPI_FUNCTION(name##_c)
#endif
#define FUNCTION(name)                                                                            \
  long name(long a, long b, long c, long d, long e, long f, long g, long h, double x, double y) { \
    called = #name;                                                                               \
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + BEHIND_THE_SIXTH;                          \
  }
#define SWATH_MPI_FUNCTION(name) FUNCTION(MPI_##name) FUNCTION(PMPI_##name)
#include "functions.h"

#ifdef WITHOUT_IREAD_AT_ALL
__asm__(".hidden MPI_File_iread_at_all");
#endif
