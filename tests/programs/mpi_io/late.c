/* The last rank comes late to a collective call, after an operation of its own: rank 0, which is there earlier, does no
   part of the call that must come after this operation. Prints "right".

   late sync FILE           the data of the last rank's own write are in the file when rank 0 syncs for the node
   late seek_shared FILE    the last rank's move of the shared pointer counts
   late atomicity FILE      operations that began before a change of the mode keep the old mode */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kBytes = 100000, kLateMicroseconds = 300000 };

static int rank = 0;
static int ranks = 1;
static char buffer[kBytes];
static off_t synced = -1;

/* Replaces libc's function: notes the size of the file when it is synced. */
int fsync(int file) {
  struct stat status;
  if (fstat(file, &status) == 0) synced = status.st_size;
  return (int)syscall(SYS_fsync, file);
}

static void require(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s failed\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int is_late(void) {
  if (rank < ranks - 1) return 0;
  usleep(kLateMicroseconds);
  return 1;
}

static void sync_late(MPI_File file) {
  if (is_late()) require(MPI_File_write_at(file, 0, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "write_at");
  require(MPI_File_sync(file) == 0, "sync");
  if (rank == 0) require(synced == kBytes, "the sync of what is written");
}

static void seek_shared_late(MPI_File file) {
  if (is_late()) require(MPI_File_write_shared(file, buffer, 10, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "write_shared");
  require(MPI_File_seek_shared(file, 3, MPI_SEEK_CUR) == 0, "seek_shared");
  MPI_Offset position = 0;
  require(MPI_File_get_position_shared(file, &position) == 0 && position == 13, "the shared pointer");
}

static void set_atomicity_late(MPI_File file) {
  const int late = is_late();
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) {
    const MPI_Offset at = (MPI_Offset)kBytes * (2 * rank + i);
    require(MPI_File_iwrite_at_all(file, at, buffer, kBytes, MPI_BYTE, &requests[i]) == 0, "iwrite_at_all");
  }
  if (late) require(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == 0, "waitall");
  require(MPI_File_set_atomicity(file, 1) == 0, "set_atomicity");
  require(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == 0, "waitall");
  MPI_Offset size = 0;
  require(MPI_File_get_size(file, &size) == 0 && size == (MPI_Offset)2 * ranks * kBytes, "the size");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == 0, "open");
  if (strcmp(argv[1], "sync") == 0) sync_late(file);
  if (strcmp(argv[1], "seek_shared") == 0) seek_shared_late(file);
  if (strcmp(argv[1], "atomicity") == 0) set_atomicity_late(file);
  require(MPI_File_close(&file) == 0, "close");
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
