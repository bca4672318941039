// MPI_Init and MPI_Init_thread request MPI_THREAD_MULTIPLE, so that operations can run in the background.
//
// Environment:
//   SWATH_MPI_IO_THREADS=off   requests the program's own thread level: nonblocking operations are then completed when
//                              they are started

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "mpi_io/real.h"
#include "mpi_io/served.h"
#include "mpi_io/thread_level.h"

namespace swath::mpi_io {

namespace {

constexpr int kUnknown = -1;
std::atomic<int> granted_level{kUnknown};

int level_to_ask_for(int by_program) {
  const char* threads = std::getenv("SWATH_MPI_IO_THREADS");
  return threads != nullptr && std::string_view(threads) == "off" ? by_program : MPI_THREAD_MULTIPLE;
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  const int error = real().Init_thread(argc, argv, level_to_ask_for(required), provided);
  if (error == MPI_SUCCESS) {
    granted_level = *provided;
  }
  return error;
}

int init(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  return init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

}  // namespace

int thread_level() {
  if (granted_level == kUnknown) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    granted_level = level;
  }
  return granted_level;
}

std::span<const Served> served_init() {
  static const std::array table{
      SWATH_SERVED(Init, init),
      SWATH_SERVED(Init_thread, init_thread),
  };
  return table;
}

}  // namespace swath::mpi_io
