// The functions that a backend exports to the stub (stub/stub.c).
//
// Environment:
//   SWATH_MPI_IO=trace   serves no file: calls go to the MPI, and are added to the trace (SWATH_TRACE)

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "mpi_io/build_id.h"
#include "mpi_io/real.h"
#include "mpi_io/served.h"
#include "trace/trace.h"

namespace {

using namespace swath::mpi_io;

std::vector<std::span<const Served>> tables() {
  const char* const wanted = std::getenv("SWATH_MPI_IO");
  if (wanted == nullptr || std::string_view(wanted) != "trace") {
    return {served_init(), served_files(), served_data(), served_waits()};
  }
  if (swath::trace::is_active()) return {traced_calls()};
  return {};
}

const Served* find_served(const char* name) {
  for (const auto& table : tables()) {
    for (const Served& each : table) {
      if (std::strcmp(each.name, name) == 0) {
        return &each;
      }
    }
  }
  return nullptr;
}

}  // namespace

// The stub calls it first: it uses no backend of another build, which a former installation may have left.
extern "C" [[gnu::visibility("default")]] const char* swath_mpi_io_build() { return SWATH_MPI_IO_BUILD; }

// `libmpi`: the handle of the loaded MPI. It is global, since this library's undefined MPI symbols are resolved there.
// Several threads may call this at the same time, and repeatedly.
extern "C" [[gnu::visibility("default")]] void swath_mpi_io_begin(void* libmpi) { swath::mpi_io::load_real(libmpi); }

// The function for "MPI_File_open" and PMPI_File_open; null: the stub uses the MPI's own function from now on.
extern "C" [[gnu::visibility("default")]] void* swath_mpi_io_function(const char* name) {
  const Served* served = find_served(name);
  return served != nullptr && swath::mpi_io::has_real(name) ? served->function : nullptr;
}
