#include "mpi_io/real.h"

#include <dlfcn.h>

#include <mutex>

namespace swath::mpi_io {

namespace {

Real loaded;
void* loaded_mpi = nullptr;

template <typename Function>
void load(void* libmpi, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(libmpi, name));
}

}  // namespace

void load_real(void* libmpi) {
  static std::once_flag once;
  std::call_once(once, [libmpi] {
    loaded_mpi = libmpi;
#define SWATH_MPI_FUNCTION(name) load(libmpi, "PMPI_" #name, loaded.name);
#if MPI_VERSION >= 4
#define SWATH_MPI_4_FUNCTION(name) SWATH_MPI_FUNCTION(name)
#else
#define SWATH_MPI_4_FUNCTION(name)
#endif
#include "mpi_io/functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_4_FUNCTION
  });
}

const Real& real() { return loaded; }

bool has_real(const char* name) { return dlsym(loaded_mpi, name) != nullptr; }

}  // namespace swath::mpi_io
