#include "mpi_io/real.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <mutex>
#include <utility>

namespace swath::mpi_io {

namespace {

Real loaded;
void* loaded_mpi = nullptr;

template <typename Function>
void load(void* libmpi, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(libmpi, name));
}

int refuse_count(MPI_File file) {
  loaded.File_call_errhandler(file, MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

// Replaces a function with large counts by the int form, the member `kByInt` of Real.
template <auto kByInt, typename LargeFunction>
struct ByInt;

template <auto kByInt, typename Buffer, typename... Result>
struct ByInt<kByInt, int (*)(MPI_File, Buffer, MPI_Count, MPI_Datatype, Result...)> {
  static int call(MPI_File file, Buffer buffer, MPI_Count count, MPI_Datatype type, Result... result) {
    return count > INT_MAX ? refuse_count(file)
                           : (loaded.*kByInt)(file, buffer, static_cast<int>(count), type, result...);
  }
};

template <auto kByInt, typename Buffer, typename... Result>
struct ByInt<kByInt, int (*)(MPI_File, MPI_Offset, Buffer, MPI_Count, MPI_Datatype, Result...)> {
  static int call(MPI_File file, MPI_Offset offset, Buffer buffer, MPI_Count count, MPI_Datatype type,
                  Result... result) {
    return count > INT_MAX ? refuse_count(file)
                           : (loaded.*kByInt)(file, offset, buffer, static_cast<int>(count), type, result...);
  }
};

template <auto kByInt>
struct ByInt<kByInt, int (*)(MPI_File, MPI_Datatype, MPI_Count*)> {
  static int call(MPI_File file, MPI_Datatype type, MPI_Count* extent) {
    MPI_Aint found = 0;
    const int error = (loaded.*kByInt)(file, type, &found);
    *extent = found;
    return error;
  }
};

template <auto kByInt, typename Function>
void load_large(void* libmpi, const char* name, Function& function) {
  load(libmpi, name, function);
  if (function == nullptr && loaded.*kByInt != nullptr) {
    function = ByInt<kByInt, Function>::call;
  }
}

}  // namespace

void load_real(void* libmpi) {
  static std::once_flag once;
  std::call_once(once, [libmpi] {
    loaded_mpi = libmpi;
    // Functions with large counts are last in the list, so the int forms are loaded before them.
#define SWATH_MPI_FUNCTION(name) load(libmpi, "PMPI_" #name, loaded.name);
#define SWATH_MPI_LARGE_FUNCTION(name) load_large<&Real::name>(libmpi, "PMPI_" #name "_c", loaded.name##_c);
#include "mpi_io/functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_LARGE_FUNCTION
  });
}

const Real& real() { return loaded; }

void* real_symbol(const char* name) { return dlsym(loaded_mpi, name); }

bool has_real(const char* name) {
  const std::pair<const char*, bool> known[] = {
#define SWATH_MPI_FUNCTION(each) {"MPI_" #each, loaded.each != nullptr},
#define SWATH_MPI_LARGE_FUNCTION(each) {"MPI_" #each "_c", loaded.each##_c != nullptr},
#include "mpi_io/functions.h"
#undef SWATH_MPI_FUNCTION
#undef SWATH_MPI_LARGE_FUNCTION
  };
  return std::ranges::any_of(known,
                             [name](const auto& each) { return each.second && std::strcmp(each.first, name) == 0; });
}

}  // namespace swath::mpi_io
