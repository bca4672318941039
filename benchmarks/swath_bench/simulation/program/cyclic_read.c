/* Repeats a CYCLIC(1) read of all ranks, and prints the seconds of each, as cyclic_read.py does in Python.
 *   cyclic_read PATH REPETITIONS      PATH: a .npy file of doubles; element i holds i
 *
 * It asks MPI for the same threads as mpi4py does. Otherwise a rank of MPICH that waits in MPI, before and after the
 * read, keeps its processor from the ranks that still read. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <swath/swath_mpi.h>

static void ask(int kind) {
  if (kind == SWATH_OK) return;
  fprintf(stderr, "swath: %s\n", swath_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int count, char** arguments) {
  int rank, ranks, threads;
  int64_t shape[SWATH_DIMENSIONS_MAX], local;
  swath_array* array;
  swath_distribution* cyclic;
  const swath_rule rule = {SWATH_CYCLIC, 1};
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  ask(swath_open_mpi(MPI_COMM_WORLD, arguments[1], NULL, "r", NULL, &array));
  ask(swath_inquire(array, NULL, shape, NULL));
  ask(swath_distribution_create(1, &rule, &ranks, &cyclic));
  ask(swath_local_shape(cyclic, 1, shape, rank, &local));
  double* values = calloc((size_t)local + 1, sizeof *values);
  for (int repetition = 0; values != NULL && repetition <= atoi(arguments[2]); ++repetition) {
    for (int64_t i = 0; i < local; ++i) values[i] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    ask(swath_read(array, cyclic, NULL, values, NULL));
    double own = MPI_Wtime() - begin, seconds = 0;
    MPI_Allreduce(&own, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int64_t i = 0; i < local; ++i) {
      if (values[i] == (double)(rank + i * ranks)) continue;
      fprintf(stderr, "rank %d: element %lld is %g\n", rank, (long long)i, values[i]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0 && repetition > 0) printf("{\"seconds\": %.9f}\n", seconds);
  }
  free(values);
  swath_distribution_free(cyclic);
  ask(swath_close(array));
  MPI_Finalize();
  return 0;
}
