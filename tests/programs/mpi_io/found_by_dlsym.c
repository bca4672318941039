// Writes a file with functions that it takes from the MPI itself, by dlopen and dlsym: no preloaded library sees the
// calls. Includes mpi.h, and is linked to no MPI.
// Usage: found_by_dlsym LIBMPI FILE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void* libmpi;

static void* function(const char* name) {
  void* found = dlsym(libmpi, name);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

int main(int argc, char** argv) {
  libmpi = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (libmpi == NULL) {
    fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "two arguments are expected");
    return 1;
  }
  ((int (*)(int*, char***))function("MPI_Init"))(&argc, &argv);
  MPI_File file;
  const int opened = ((int (*)(MPI_Comm, const char*, int, MPI_Info, MPI_File*))function("MPI_File_open"))(
      MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  const int written =
      ((int (*)(MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Status*))function("MPI_File_write_at"))(
          file, 0, "written", 7, MPI_BYTE, MPI_STATUS_IGNORE);
  ((int (*)(MPI_File*))function("MPI_File_close"))(&file);
  ((int (*)(void))function("MPI_Finalize"))();
  return opened != MPI_SUCCESS || written != MPI_SUCCESS;
}
