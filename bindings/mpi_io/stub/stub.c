// The library that is preloaded into every program. It defines MPI's file functions as trampolines (trampolines.S). At
// the first call of each, the code here finds the function to jump to: in the backend for the MPI that the process has
// loaded, or else in that MPI itself. It needs libc only, and does nothing in a process that calls no MPI.
//
// Environment:
//   SWATH_MPI_IO=off, 0             always uses the MPI's own functions
//   SWATH_MPI_IO=trace              uses the MPI's own functions; the backend only adds each call to the trace
//   SWATH_MPI_IO_REPORT=1           a process whose MPI_Init has bypassed this library reports that at its end
//   SWATH_MPI_IO_BACKENDS=FOLDER    searches backends here first; then in the folder of this library, then in the
//                                   user's folder ($XDG_DATA_HOME or ~/.local/share)/swath/mpi_io/VERSION
//
// No lock is needed: threads that call at the same time find the same function, and the backend initialises itself
// once.

// NOLINTNEXTLINE(bugprone-reserved-identifier)
#define _GNU_SOURCE 1

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_io/build_id.h"

extern void* swath_mpi_io_entries[];  // in trampolines.S: two for each name below
void* swath_mpi_io_resolve(void** entry);

static const char* const names[] = {
#define SWATH_MPI_FUNCTION(name) "PMPI_" #name,
#define SWATH_MPI_LARGE_FUNCTION(name) "PMPI_" #name "_c",
#include "../functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_LARGE_FUNCTION
};

// The loaded MPI. Backends are named by its family.
struct Mpi {
  void* handle;
  const char* path;
  const char* family;  // null: unknown
};

typedef void* (*Function)(const char* name);

static Function backend_function;  // published by the first thread that opens the backend; null: none yet
static int backend_missing;        // 1: no backend was found, and this was reported
static int mpi_was_begun;          // 1: MPI_Init or MPI_File_open was called through this library

// ---- The MPI that is loaded -----------------------------------------------------------------------------------------

static int is_this_library(const void* address) {
  Dl_info mine;
  Dl_info its;
  return dladdr((const void*)names, &mine) != 0 && dladdr(address, &its) != 0 && mine.dli_fbase == its.dli_fbase;
}

enum { CANDIDATES_MAX = 32 };

struct Candidates {
  const char* paths[CANDIDATES_MAX];
  int count;
};

static int collect(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct Candidates* candidates = data;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* base = slash != NULL ? slash + 1 : info->dlpi_name;
  if (strncmp(base, "libmpi", strlen("libmpi")) == 0 && candidates->count < CANDIDATES_MAX) {
    candidates->paths[candidates->count++] = info->dlpi_name;
  }
  return 0;
}

// PMPI_Init of the loaded MPI: the next one in the symbol search order, or, if Python has loaded MPI with local
// symbols, the one of a library whose name begins with libmpi (libmpi_mpifh.so also leads to it).
static void* init_of_loaded(void) {
  void* init = dlsym(RTLD_NEXT, "PMPI_Init");
  if (init != NULL && !is_this_library(init)) {
    return init;
  }
  struct Candidates candidates = {.count = 0};
  dl_iterate_phdr(collect, &candidates);
  for (int i = 0; i < candidates.count; ++i) {
    void* handle = dlopen(candidates.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) {
      continue;
    }
    init = dlsym(handle, "PMPI_Init");
    dlclose(handle);
    if (init != NULL && !is_this_library(init)) {
      return init;
    }
  }
  return NULL;
}

static const char* soname_of(void* handle) {
  struct link_map* map = NULL;
  if (dlinfo(handle, RTLD_DI_LINKMAP, (void*)&map) != 0) {
    return "";
  }
  const char* texts = NULL;
  size_t place = 0;
  for (const ElfW(Dyn)* each = map->l_ld; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_STRTAB) {
      const uintptr_t address = each->d_un.d_ptr;  // glibc has already added l_addr, other loaders have not
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is a number in this table
      texts = (const char*)(address < map->l_addr ? address + map->l_addr : address);
    } else if (each->d_tag == DT_SONAME) {
      place = each->d_un.d_val;
    }
  }
  return texts != NULL && place != 0 ? texts + place : "";
}

static const char* family_of(void* handle) {
  if (strncmp(soname_of(handle), "libmpi_abi.so", strlen("libmpi_abi.so")) == 0) {
    return "mpiabi";
  }
  if (dlsym(handle, "ompi_mpi_comm_world") != NULL) {
    return "openmpi";
  }
  if (dlsym(handle, "MPIR_Dup_fn") != NULL) {  // a function of MPICH's ABI
    return "mpich";
  }
  return NULL;
}

// Returns 0 if no MPI is loaded.
static int find_mpi(struct Mpi* mpi) {
  Dl_info definer;
  const void* init = init_of_loaded();
  if (init == NULL || dladdr(init, &definer) == 0) {
    return 0;
  }
  mpi->path = definer.dli_fname;
  mpi->handle = dlopen(mpi->path, RTLD_LAZY | RTLD_NOLOAD);
  if (mpi->handle == NULL) {
    mpi->handle = dlopen(NULL, RTLD_LAZY);  // linked statically into the program
  }
  mpi->family = mpi->handle != NULL ? family_of(mpi->handle) : NULL;
  return mpi->handle != NULL;
}

// ---- Its backend ----------------------------------------------------------------------------------------------------

static int is_off(void) {
  const char* value = getenv("SWATH_MPI_IO");
  return value != NULL && (strcmp(value, "off") == 0 || strcmp(value, "0") == 0);
}

static int is_traced_only(void) {
  const char* value = getenv("SWATH_MPI_IO");
  return value != NULL && strcmp(value, "trace") == 0;
}

// Used to print a message that concerns all ranks once.
static int is_first_rank(void) {
  static const char* const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; ++i) {
    const char* rank = getenv(ranks[i]);
    if (rank != NULL) {
      return strcmp(rank, "0") == 0;
    }
  }
  return 1;
}

// Prints once in a process.
static void say_missing(const struct Mpi* mpi, const char* why) {
  if (__atomic_exchange_n(&backend_missing, 1, __ATOMIC_ACQ_REL) == 0 && is_first_rank()) {
    fprintf(stderr,
            "swath: %s %s: %s. Build a backend with the mpicxx of this MPI (swath mpi-io build --mpicxx PATH), or set "
            "SWATH_MPI_IO=off\n",
            is_traced_only() ? "no MPI-IO call is traced of" : "MPI-IO is left to", mpi->path, why);
  }
}

static void folder_of_this_library(char* folder, size_t size) {
  Dl_info mine;
  folder[0] = '\0';
  if (dladdr((const void*)names, &mine) == 0) {
    return;
  }
  const char* slash = strrchr(mine.dli_fname, '/');
  if (slash == NULL) {
    snprintf(folder, size, ".");
  } else {
    snprintf(folder, size, "%.*s", (int)(slash - mine.dli_fname), mine.dli_fname);
  }
}

static void folder_of_user(char* folder, size_t size) {
  const char* data = secure_getenv("XDG_DATA_HOME");
  const char* home = secure_getenv("HOME");
  folder[0] = '\0';
  if (data != NULL && data[0] == '/') {
    snprintf(folder, size, "%s/swath/mpi_io/%s", data, SWATH_VERSION);
  } else if (home != NULL && home[0] == '/') {
    snprintf(folder, size, "%s/.local/share/swath/mpi_io/%s", home, SWATH_VERSION);
  }
}

// Opens and initialises a backend. Returns its lookup function; null on failure, with the reason in `why`.
static Function open_backend(const char* path, const struct Mpi* mpi, char* why, size_t size) {
  // Makes the MPI's symbols global, since the backend's undefined MPI symbols are resolved there.
  dlopen(mpi->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  void* backend = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (backend == NULL) {
    const char* error = dlerror();
    snprintf(why, size, "its backend cannot be opened: %s", error != NULL ? error : path);
    return NULL;
  }
  const char* (*build)(void) = (const char* (*)(void))dlsym(backend, "swath_mpi_io_build");
  void (*begin)(void*) = (void (*)(void*))dlsym(backend, "swath_mpi_io_begin");
  const Function function = (Function)dlsym(backend, "swath_mpi_io_function");
  if (build == NULL || begin == NULL || function == NULL) {
    snprintf(why, size, "%s is no backend", path);
    return NULL;
  }
  if (strcmp(build(), SWATH_MPI_IO_BUILD) != 0) {
    snprintf(why, size, "%s is of Swath %s, and this is Swath %s", path, build(), SWATH_MPI_IO_BUILD);
    return NULL;
  }
  begin(mpi->handle);
  return function;
}

static Function find_backend(const struct Mpi* mpi) {
  if (mpi->family == NULL) {
    say_missing(mpi, "it is neither MPICH, nor Open MPI, nor of the MPI ABI");
    return NULL;
  }
  char mine[PATH_MAX];
  char users[PATH_MAX];
  folder_of_this_library(mine, sizeof mine);
  folder_of_user(users, sizeof users);
  const char* const folders[] = {secure_getenv("SWATH_MPI_IO_BACKENDS"), mine, users};
  char why[2 * PATH_MAX];
  snprintf(why, sizeof why, "there is no backend of the family %s", mpi->family);
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) {
    char path[PATH_MAX + 64];
    if (folders[i] == NULL || folders[i][0] == '\0') {
      continue;
    }
    snprintf(path, sizeof path, "%s/libswath-mpi-io-%s.so", folders[i], mpi->family);
    if (access(path, F_OK) != 0) {
      continue;
    }
    const Function function = open_backend(path, mpi, why, sizeof why);
    if (function != NULL) {
      return function;
    }
  }
  say_missing(mpi, why);
  return NULL;
}

static Function backend_of(const struct Mpi* mpi) {
  Function function = __atomic_load_n(&backend_function, __ATOMIC_ACQUIRE);
  if (function == NULL && __atomic_load_n(&backend_missing, __ATOMIC_ACQUIRE) == 0) {
    function = find_backend(mpi);
    if (function != NULL) {
      __atomic_store_n(&backend_function, function, __ATOMIC_RELEASE);
    }
  }
  return function;
}

// ---- A function -----------------------------------------------------------------------------------------------------

// Large-count functions for an MPI older than MPI-4. A program (mpi4py does) may test for MPI_File_read_c as a weak
// symbol, and find it here although the MPI has none. So this calls MPI_File_read if the count fits into an int.
typedef int (*RealFunction)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

enum { ARGUMENTS = 6, MPI_ERR_COUNT_OF_ALL = 2 };

// Trampolines in this library.
int PMPI_File_call_errhandler(intptr_t file, int error);
#define SWATH_MPI_FUNCTION(name)
#define SWATH_MPI_LARGE_FUNCTION(name) int PMPI_##name(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);
#include "../functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_LARGE_FUNCTION

static int call_by_int(const char* name, RealFunction by_int, const intptr_t* arguments) {
  const int has_count = strstr(name, "get_type_extent") == NULL;
  const intptr_t count = arguments[strstr(name, "_at") != NULL ? 3 : 2];  // the argument after the buffer
  if (has_count && count > INT_MAX) {
    PMPI_File_call_errhandler(arguments[0], MPI_ERR_COUNT_OF_ALL);
    return MPI_ERR_COUNT_OF_ALL;
  }
  return by_int(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

#define SWATH_MPI_FUNCTION(name)
#define SWATH_MPI_LARGE_FUNCTION(name)                                                               \
  static int name##_by_int(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f) { \
    return call_by_int(#name, PMPI_##name, (intptr_t[ARGUMENTS]){a, b, c, d, e, f});                 \
  }
#include "../functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_LARGE_FUNCTION

static void* find_by_int(const char* pmpi_name) {
  static const struct {
    const char* name;
    RealFunction function;
  } large[] = {
#define SWATH_MPI_FUNCTION(name)
#define SWATH_MPI_LARGE_FUNCTION(name) {"PMPI_" #name "_c", name##_by_int},
#include "../functions.h"
  };
  for (size_t i = 0; i < sizeof large / sizeof large[0]; ++i) {
    if (strcmp(large[i].name, pmpi_name) == 0) {
      return (void*)large[i].function;
    }
  }
  return NULL;
}

static void* find_function(const char* pmpi_name, const char* name) {
  struct Mpi mpi;
  if (!find_mpi(&mpi)) {
    fprintf(stderr, "swath: %s was called, but this process has loaded no MPI\n", name);
    abort();
  }
  if (!is_off()) {
    const Function function = backend_of(&mpi);
    void* served = function != NULL ? function(pmpi_name + 1) : NULL;
    if (served != NULL) {
      return served;
    }
  }
  void* real = dlsym(mpi.handle, name);
  if (real == NULL) {
    real = find_by_int(pmpi_name);
  }
  if (real == NULL) {
    fprintf(stderr, "swath: %s was called, but %s has no such function: it is of an older MPI standard\n", name,
            mpi.path);
    abort();
  }
  return real;
}

static int begins_mpi(const char* pmpi_name) {
  return strncmp(pmpi_name, "PMPI_Init", strlen("PMPI_Init")) == 0 || strcmp(pmpi_name, "PMPI_Session_init") == 0 ||
         strcmp(pmpi_name, "PMPI_File_open") == 0;
}

// Finds the function of `entry`, and stores it there: the trampoline jumps to it now and later.
void* swath_mpi_io_resolve(void** entry) {
  const int error = errno;
  const ptrdiff_t index = entry - swath_mpi_io_entries;
  const char* pmpi_name = names[index / 2];
  if (begins_mpi(pmpi_name)) {
    __atomic_store_n(&mpi_was_begun, 1, __ATOMIC_RELAXED);
  }
  void* function = find_function(pmpi_name, index % 2 == 0 ? pmpi_name + 1 : pmpi_name);
  __atomic_store_n(entry, function, __ATOMIC_RELEASE);
  errno = error;
  return function;
}

// ---- Programs that cannot be served ---------------------------------------------------------------------------------

static int is_report_wanted(void) {
  const char* value = getenv("SWATH_MPI_IO_REPORT");
  return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

// Finds a PMPI_Init that bypasses this library: the program uses dlsym, or MPI is linked into it statically.
static const void* init_past_this_library(void) {
  const void* loaded = init_of_loaded();
  if (loaded != NULL) {
    return loaded;
  }
  const void* linked = dlsym(RTLD_DEFAULT, "PMPI_Init");
  return linked != NULL && !is_this_library(linked) ? linked : NULL;
}

__attribute__((destructor)) static void say_what_was_not_reached(void) {
  if (!is_report_wanted() || is_off() || !is_first_rank() || __atomic_load_n(&mpi_was_begun, __ATOMIC_RELAXED)) {
    return;
  }
  Dl_info definer;
  const void* init = init_past_this_library();
  if (init == NULL || dladdr(init, &definer) == 0) {
    return;
  }
  fprintf(
      stderr,
      "swath mpi-io: no file was served: this process has loaded %s, and called neither MPI_Init nor MPI_File_open "
      "where Swath can see it. If it does MPI-IO, it finds MPI's functions by dlopen and dlsym, or MPI is linked "
      "into it statically: link the program, or the library that calls MPI, to the shared libmpi (docs/mpi-io.md)\n",
      definer.dli_fname);
}
