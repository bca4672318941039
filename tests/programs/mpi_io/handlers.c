/* Errors of the medium; all other handlers are MPI's fatal ones. It prints a line for each call and rank

     CALL RANK CLASS HANDLERS TEXT

   with the returned class, and the number of calls of the file's handler. The rule of a fault is in
   SWATH_MPI_IO_ENGINE (core/store/fault/fault.h). tests/mpi_io/test_mpi_io_faults.py starts it.

   handlers count|return FILE CALL…     the handler of the file counts its calls, or is MPI_ERRORS_RETURN */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int handled = 0;
static int rank = 0;
static int ranks = 1;
static char buffer[1000];

static void count_error(MPI_File* file, int* code, ...) {
  (void)file;
  (void)code;
  ++handled;
}

static void tell(const char* call, int code) {
  int class = MPI_SUCCESS;
  char message[MPI_MAX_ERROR_STRING + 1] = "-";
  int length = 0;
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &class);
    MPI_Error_string(code, message, &length);
  }
  printf("%s %d %d %d %s\n", call, rank, class, handled, message);
  fflush(stdout);
  handled = 0;
}

static int run(const char* call, MPI_File file) {
  const MPI_Offset at = 1000 * (MPI_Offset)rank;
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Request both[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  int flag = 0;
  int index = 0;
  int indices[3];
  int code = MPI_SUCCESS;
#define IS(name) (strcmp(call, name) == 0)
  if (IS("write_at")) return MPI_File_write_at(file, at, buffer, 1000, MPI_BYTE, &status);
  if (IS("write_at_all")) return MPI_File_write_at_all(file, at, buffer, 1000, MPI_BYTE, &status);
  if (IS("write_ordered")) return MPI_File_write_ordered(file, buffer, 1000, MPI_BYTE, &status);
  if (IS("write_shared")) return MPI_File_write_shared(file, buffer, 1000, MPI_BYTE, &status);
  if (IS("split")) {
    code = MPI_File_write_at_all_begin(file, at, buffer, 1000, MPI_BYTE);
    return code != MPI_SUCCESS ? code : MPI_File_write_at_all_end(file, buffer, &status);
  }
  /* Nonblocking calls: the first fails, the others do not. */
  code = IS("iwrite_at_all") ? MPI_File_iwrite_at_all(file, at, buffer, 1000, MPI_BYTE, &both[1])
                             : MPI_File_iwrite_at(file, at, buffer, 1000, MPI_BYTE, &both[1]);
  if (code != MPI_SUCCESS) return code;
  request = both[1];
  if (IS("iwrite_at") || IS("iwrite_at_all")) return MPI_Wait(&request, &status);
  if (IS("test")) {
    while (code == MPI_SUCCESS && !flag) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return code;
  }
  MPI_Ibarrier(MPI_COMM_SELF, &both[0]);
  MPI_File_iwrite_at(file, 100000 + at, buffer, 1000, MPI_BYTE, &both[2]);
  if (IS("waitall")) code = MPI_Waitall(3, both, statuses);
  if (IS("testall")) {
    while (code == MPI_SUCCESS && !flag) code = MPI_Testall(3, both, &flag, statuses);
  }
  if (IS("waitall_ignored")) return MPI_Waitall(3, both, MPI_STATUSES_IGNORE);
  if (IS("waitall") || IS("testall")) {
    int class = MPI_SUCCESS;
    if (code == MPI_SUCCESS) return code;
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_IN_STATUS) return code;
    if (statuses[0].MPI_ERROR != MPI_SUCCESS || statuses[2].MPI_ERROR != MPI_SUCCESS) return MPI_ERR_INTERN;
    return statuses[1].MPI_ERROR;
  }
  int found = MPI_SUCCESS;
  for (int done = 0; done < 3;) {
    int count = 1;
    flag = 1;
    if (IS("waitany")) code = MPI_Waitany(3, both, &index, &status);
    if (IS("testany")) code = MPI_Testany(3, both, &index, &flag, &status);
    if (IS("waitsome")) code = MPI_Waitsome(3, both, &count, indices, statuses);
    if (IS("testsome")) code = MPI_Testsome(3, both, &count, indices, statuses);
    if (IS("waitany") || IS("testany")) {
      indices[0] = index;
      statuses[0].MPI_ERROR = code;
    }
    for (int i = 0; flag && i < count; ++i) {
      if (code != MPI_SUCCESS && statuses[i].MPI_ERROR != MPI_SUCCESS) {
        found = indices[i] == 1 ? statuses[i].MPI_ERROR : MPI_ERR_INTERN;
      }
    }
    if (flag) done += count;
  }
  return found;
}

int main(int argc, char** argv) {
  int provided = 0;
  const int counts = strcmp(argv[1], "count") == 0;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info together; /* so that all ranks get an error in the call that fails */
  MPI_Info_create(&together);
  MPI_Info_set(together, "swath_contiguous", "together");
  for (int i = 3; i < argc; ++i) {
    MPI_File file = MPI_FILE_NULL;
    if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_RDWR | MPI_MODE_CREATE, together, &file) != MPI_SUCCESS) {
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    /* Otherwise it is MPI_ERRORS_RETURN, as for all files. A new handler for each: MPICH 5.0 frees it with the file. */
    if (counts) {
      MPI_File_create_errhandler(count_error, &handler);
      MPI_File_set_errhandler(file, handler);
    }
    tell(argv[i], run(argv[i], file));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
  }
  MPI_Info_free(&together);
  MPI_Finalize();
  return 0;
}
