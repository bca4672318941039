// Every rank writes its number and reads its neighbour's. Prints "level L of M, N files right" on rank 0.
// Usage: program FILE [required: -1 is MPI_Init]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const int required = argc > 2 ? atoi(argv[2]) : -1;
  int level = -2;
  if (required < 0) {
    MPI_Init(&argc, &argv);
  } else {
    int provided = -2;
    MPI_Init_thread(&argc, &argv, required, &provided);
    MPI_Query_thread(&level);
    if (provided != level) {
      printf("provided %d is not %d\n", provided, level);
    }
  }
  MPI_Query_thread(&level);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_at_all(file, rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  int other = -1;
  MPI_Status status;
  MPI_File_read_at(file, (rank + 1) % size, &other, 1, MPI_INT, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  int right = count == 1 && other == (rank + 1) % size;
  MPI_File_close(&file);
  int all_right = 0;
  MPI_Reduce(&right, &all_right, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("level %d of %d, %d right\n", level, MPI_THREAD_MULTIPLE, all_right);
  }
  MPI_Finalize();
  return 0;
}
