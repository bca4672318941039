/* The functions that mpi_of_c.f90 needs from an MPI without Fortran. */
#include <mpi.h>
#include <stddef.h>

int start_mpi(void) {
  MPI_Init(NULL, NULL);
  return (int)MPI_Comm_c2f(MPI_COMM_WORLD);
}
int rank_of_mpi(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int ranks_of_mpi(void) {
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}
void end_mpi(void) { MPI_Finalize(); }
