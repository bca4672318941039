// Calls of MPI-IO of every kind, whose trace a test compares with a list. Each rank has blocks of COUNT integers.
// Usage: traced_calls FILE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100, BLOCKS = 3 };

static void must(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "%s failed\n", call);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call) must(call, #call)

// Numbers of this rank, which differ from those of other ranks.
static int values[COUNT * BLOCKS];
static int found[COUNT * BLOCKS];

static void check(int count, int first) {
  for (int i = 0; i < count; ++i) must(found[i] != values[first + i], "a comparison");
}

// Blocks of all ranks alternate in the file.
static void through_a_view(MPI_File file, int rank, int ranks) {
  MPI_Datatype blocks;
  MPI_Request request;
  MPI_Status status;
  MPI_Type_vector(BLOCKS, COUNT, COUNT * ranks, MPI_INT, &blocks);
  MPI_Type_commit(&blocks);
  MUST(MPI_File_set_view(file, (MPI_Offset)rank * COUNT * 4, MPI_INT, blocks, "native", MPI_INFO_NULL));
  MPI_Type_free(&blocks);
  MUST(MPI_File_write_at_all(file, 0, values, COUNT * BLOCKS, MPI_INT, MPI_STATUS_IGNORE));
  MUST(MPI_File_seek(file, COUNT, MPI_SEEK_SET));
  MUST(MPI_File_write(file, values + COUNT, COUNT, MPI_INT, &status));
  MUST(MPI_File_write_all_begin(file, values + 2 * COUNT, COUNT, MPI_INT));
  MUST(MPI_File_write_all_end(file, values + 2 * COUNT, &status));
  MUST(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  MUST(PMPI_File_read_at(file, COUNT, found, COUNT, MPI_INT, MPI_STATUS_IGNORE));
  check(COUNT, COUNT);
  MUST(MPI_File_iread_at(file, 0, found, 2 * COUNT, MPI_INT, &request));
  MUST(MPI_Wait(&request, &status));
  check(2 * COUNT, 0);
}

// Through the whole file, in bytes.
static void without_a_view(MPI_File file, int rank, int ranks) {
  const MPI_Offset bytes = (MPI_Offset)COUNT * BLOCKS * 4 * ranks;
  int count;
  MPI_Status status;
  MUST(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MUST(MPI_File_read_at_all(file, (MPI_Offset)rank * COUNT * 4, found, COUNT, MPI_INT, &status));
  check(COUNT, 0);
  MUST(MPI_File_read_at(file, bytes - 40, found, COUNT, MPI_INT, &status));  // at the end of the file
  MPI_Get_count(&status, MPI_INT, &count);
  must(count != 10, "MPI_Get_count");
  MUST(MPI_File_write_ordered(file, values, COUNT, MPI_INT, MPI_STATUS_IGNORE));
#if MPI_VERSION >= 4
  MUST(MPI_File_read_at_c(file, 0, found, COUNT, MPI_INT, &status));
#else
  MUST(MPI_File_read_at(file, 0, found, COUNT, MPI_INT, &status));
#endif
}

// A file that is open to read cannot be written.
static void a_failure(const char* path) {
  MPI_File file;
  MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  must(MPI_File_write_at(file, 0, values, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "an error");
  MUST(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < COUNT * BLOCKS; ++i) values[i] = 1000 * rank + i;
  MUST(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MUST(MPI_File_set_size(file, 0));
  through_a_view(file, rank, ranks);
  without_a_view(file, rank, ranks);
  MUST(MPI_File_close(&file));
  a_failure(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MUST(MPI_File_delete(argv[1], MPI_INFO_NULL));
  MPI_Finalize();
  return 0;
}
