// A false backend, which prints the requests that it gets. With SERVED ("MPI_File_open") it is a backend for fake_mpi.c
// and serves this function; without SERVED it is a backend for any MPI, and serves nothing.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const char* swath_mpi_io_build(void) { return BUILD; }

#ifdef SERVED

typedef long (*Function)(long, long, long, long, long, long, long, long, double, double);

const char* fake_mpi_called(void);  // undefined: found if the stub has made the loaded MPI global

static Function real;

void swath_mpi_io_begin(void* libmpi) {
  real = (Function)dlsym(libmpi, "P" SERVED);
  printf("begun, last called: '%s'\n", fake_mpi_called());
}

static long served(long a, long b, long c, long d, long e, long f, long g, long h, double x, double y) {
  return real(a, b, c, d, e, f, g, h, x, y);
}

void* swath_mpi_io_function(const char* name) {
  printf("asked for %s\n", name);
  return strcmp(name, SERVED) == 0 ? (void*)served : NULL;
}

#else

void swath_mpi_io_begin(void* libmpi) { (void)libmpi; }

void* swath_mpi_io_function(const char* name) {
  printf("asked for %s\n", name);
  fflush(stdout);
  return NULL;
}

#endif
