// An MPI in name only: each function remembers that it was called, and returns a number made of all its arguments. With
// AS_MPICH the stub takes it for MPICH; with WITHOUT_LARGE_COUNTS it is older than MPI-4.

static __thread const char* called = "";

const char* fake_mpi_called(void) { return called; }

#ifdef AS_MPICH
void MPIR_Dup_fn(void) {}
#endif

#define FUNCTION(name)                                                                                               \
  long name(long a, long b, long c, long d, long e, long f, long g, long h, double x, double y) {                    \
    called = #name;                                                                                                  \
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)(1000 * x + 10000 * y);                 \
  }
#define SWATH_MPI_FUNCTION(name) FUNCTION(MPI_##name) FUNCTION(PMPI_##name)
#ifdef WITHOUT_LARGE_COUNTS
#define SWATH_MPI_4_FUNCTION(name)
#else
#define SWATH_MPI_4_FUNCTION(name) SWATH_MPI_FUNCTION(name)
#endif
#include "functions.h"
