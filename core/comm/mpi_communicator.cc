#include "comm/mpi_communicator.h"

#include <string>

#include "base/error.h"

namespace swath {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorKind::kStore, std::string(call) + " failed: " + text);
}

bool mpi_is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

void require_running_mpi() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    fail_argument(
        "MPI is not initialised in the libmpi that Swath was linked to. From Python, import mpi4py.MPI first, and use "
        "the mpi4py of that same MPI; elsewhere, call MPI_Init first");
  }
  if (mpi_is_finalized()) fail_argument("MPI has been finalised: use a communicator before MPI_Finalize");
}

bool mpi_serves_threads() {
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  return provided == MPI_THREAD_MULTIPLE;
}

void let_mpi_progress() {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0 || mpi_is_finalized()) return;
  int is_main = 0;
  int provided = MPI_THREAD_SINGLE;
  MPI_Is_thread_main(&is_main);
  MPI_Query_thread(&provided);
  if (is_main == 0 && provided != MPI_THREAD_MULTIPLE) return;
  constexpr int kCalls = 32;  // MPICH sends about one of the messages that wait at each
  for (int i = 0; i < kCalls; ++i) {
    int is_there = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
  }
}

RankAndSize rank_and_size(MPI_Comm communicator) {
  RankAndSize found;
  check_mpi(MPI_Comm_rank(communicator, &found.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &found.size), "MPI_Comm_size");
  return found;
}

void OwnedCommunicator::release() {
  const bool is_ours = communicator_ != MPI_COMM_NULL && generation_ == fork_generation();
  if (is_ours && !mpi_is_finalized()) MPI_Comm_free(&communicator_);
  communicator_ = MPI_COMM_NULL;
}

}  // namespace swath
