/* A rank waits in a call of MPI-IO for another rank, which waits for earlier messages of the first rank: MPI must
   send them meanwhile, as in its own calls. Rank 0 sends, and rank 1 receives before it uses the file. Prints "right".

   progress CALL FILE       CALL: rank 0 waits in write_at_all, wait, waitall, waitany, waitsome or set_atomicity;
                            window: it waits in write_at_all, and rank 1 puts into a window of its memory */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kMessages = 10000, kMessageBytes = 4096, kBytes = 1000 };

static int rank = 0;
static char message[kMessageBytes];
static char buffer[kBytes];
static MPI_Request sends[kMessages];

static void require(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s failed\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void send_or_receive(void) {
  for (int i = 0; i < kMessages; ++i) {
    if (rank == 0) MPI_Isend(message, kMessageBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &sends[i]);
    if (rank == 1) MPI_Recv(message, kMessageBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void write_together(MPI_File file) {
  const MPI_Offset at = (MPI_Offset)kBytes * rank;
  require(MPI_File_write_at_all(file, at, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "write_at_all");
}

static void put_and_write(MPI_File file) {
  static char memory[kMessageBytes];
  MPI_Win window;
  MPI_Win_create(memory, kMessageBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int i = 0; rank == 1 && i < 10; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(message, kMessageBytes, MPI_BYTE, 0, 0, kMessageBytes, MPI_BYTE, window);
    MPI_Win_unlock(0, window);
  }
  write_together(file);
  MPI_Win_free(&window);
}

static void wait_for(const char* call, MPI_Request* request, MPI_File file) {
  int index = 0;
  int indices[1];
  if (strcmp(call, "wait") == 0) require(MPI_Wait(request, MPI_STATUS_IGNORE) == 0, call);
  if (strcmp(call, "waitall") == 0) require(MPI_Waitall(1, request, MPI_STATUSES_IGNORE) == 0, call);
  if (strcmp(call, "waitany") == 0) require(MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE) == 0 && !index, call);
  if (strcmp(call, "waitsome") == 0) {
    require(MPI_Waitsome(1, request, &index, indices, MPI_STATUSES_IGNORE) == 0 && index == 1, call);
  }
  if (strcmp(call, "set_atomicity") == 0) require(MPI_File_set_atomicity(file, 1) == 0, call);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  require(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == 0, "open");
  if (strcmp(argv[1], "window") == 0) {
    put_and_write(file);
  } else if (strcmp(argv[1], "write_at_all") == 0) {
    send_or_receive();
    write_together(file);
    if (rank == 0) MPI_Waitall(kMessages, sends, MPI_STATUSES_IGNORE);
  } else {
    send_or_receive();
    MPI_Request request;
    const MPI_Offset at = (MPI_Offset)kBytes * rank;
    require(MPI_File_iwrite_at_all(file, at, buffer, kBytes, MPI_BYTE, &request) == 0, "iwrite_at_all");
    wait_for(argv[1], &request, file);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Waitall(kMessages, sends, MPI_STATUSES_IGNORE);
  }
  require(MPI_File_close(&file) == 0, "close");
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
