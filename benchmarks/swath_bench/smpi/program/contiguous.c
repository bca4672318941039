/* Each rank writes or reads its contiguous part of one file by MPI_File; the slowest rank's seconds are printed.
 * Usage: contiguous FILE write|read collective|independent BYTES_OF_A_RANK */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*read_call)(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);
typedef int (*write_call)(MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Status*);

int main(int argc, char** argv) {
  int rank = 0;
  double took = 0, most = 0;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const path = argv[1];
  const int writes = strcmp(argv[2], "write") == 0;
  const int is_collective = strcmp(argv[3], "collective") == 0;
  const int bytes = atoi(argv[4]);
  char* const buffer = malloc((size_t)bytes);
  const MPI_Offset offset = (MPI_Offset)rank * bytes;
  const write_call write = is_collective ? MPI_File_write_at_all : MPI_File_write_at;
  const read_call read = is_collective ? MPI_File_read_at_all : MPI_File_read_at;

  MPI_File_open(MPI_COMM_WORLD, path, writes ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY, MPI_INFO_NULL,
                &file);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  if (writes) {
    write(file, offset, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  } else {
    read(file, offset, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  took = MPI_Wtime() - began;
  MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("seconds %.9g\n", most);
  MPI_File_close(&file);
  free(buffer);
  MPI_Finalize();
  return 0;
}
