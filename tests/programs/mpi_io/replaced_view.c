// Nonblocking calls whose view is replaced before the program waits for them; argument: the file. The drop-in keeps
// datatypes of a view until MPI has freed the request. Prints "right" if the bytes are right.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { kCount = 1000 };

static void require(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "%s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Every size-th integer from this rank's on.
static void set_view(MPI_File file, int rank, int size, int first) {
  MPI_Datatype spread;
  MPI_Type_vector(kCount, 1, size, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  const MPI_Offset at = ((MPI_Offset)first * size + rank) * (MPI_Offset)sizeof(int);
  require(MPI_File_set_view(file, at, MPI_INT, spread, "native", MPI_INFO_NULL) == 0, "set_view");
  MPI_Type_free(&spread);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static int written[2 * kCount];
  static int found[2 * kCount];
  for (int i = 0; i < 2 * kCount; ++i) written[i] = i + 10000 * rank;

  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == 0, "open");
  MPI_Request requests[2];
  for (int half = 0; half < 2; ++half) {
    set_view(file, rank, size, half * kCount);
    require(MPI_File_iwrite_at(file, 0, written + half * kCount, kCount, MPI_INT, &requests[half]) == 0, "iwrite_at");
  }
  require(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == 0, "set_view");
  usleep(200000);  // the work is done, and only MPI's request is left
  require(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == 0, "waitall");
  for (int half = 0; half < 2; ++half) {
    set_view(file, rank, size, half * kCount);
    require(MPI_File_read_at(file, 0, found + half * kCount, kCount, MPI_INT, MPI_STATUS_IGNORE) == 0, "read_at");
  }
  for (int i = 0; i < 2 * kCount; ++i) require(found[i] == written[i], "what was read");
  require(MPI_File_close(&file) == 0, "close");
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
