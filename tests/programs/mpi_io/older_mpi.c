/* Preloaded: name look-ups find no datatype functions of MPI-4 in the loaded MPI, as in libraries of MPI-3.1 with the
   same ABI. Prints the names that were looked up to standard error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void* (*Dlsym)(void*, const char*);

static Dlsym real_dlsym(void) {
  static const char* const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
  void* found = NULL;
  for (size_t i = 0; found == NULL && i < sizeof versions / sizeof versions[0]; ++i) {
    found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
  }
  return (Dlsym)found;
}

static int is_hidden(const char* name) {
  return strncmp(name, "PMPI_Type_", strlen("PMPI_Type_")) == 0 && strcmp(name + strlen(name) - 2, "_c") == 0;
}

/* RTLD_NEXT depends on the caller: so the last call must be a jump (-O2). */
void* dlsym(void* handle, const char* name) {
  static Dlsym real;
  if (real == NULL) real = real_dlsym();
  if (is_hidden(name)) {
    fprintf(stderr, "older_mpi: no %s\n", name);
    return NULL;
  }
  return real(handle, name);
}
