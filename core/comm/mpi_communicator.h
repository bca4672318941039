// MPI's communicators: ownership, and errors of MPI calls as exceptions.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/fork.h"

namespace swath {

// Throws kStore if an MPI call failed, with its name and MPI's message.
void check_mpi(int code, const char* call);

bool mpi_is_finalized();

// Throws kArgument unless MPI has been initialised and not finalised.
void require_running_mpi();

// True if several threads may call MPI at the same time.
bool mpi_serves_threads();

// For base/progress_hook.h. MPI progresses messages and windows only during its calls, and other ranks may wait for
// those of a thread that waits in Swath. Does nothing if MPI does not allow calls from this thread.
void let_mpi_progress();

struct RankAndSize {
  int rank = 0;
  int size = 0;
};
RankAndSize rank_and_size(MPI_Comm communicator);

// A communicator that its owner frees.
class OwnedCommunicator {
 public:
  OwnedCommunicator() = default;
  OwnedCommunicator(const OwnedCommunicator&) = delete;
  OwnedCommunicator& operator=(const OwnedCommunicator&) = delete;
  ~OwnedCommunicator() { release(); }

  MPI_Comm get() const { return communicator_; }
  // For the MPI call that makes the communicator. Its later errors are returned, not fatal.
  template <typename MakeCall>
  void make(const MakeCall& call, const char* name) {
    check_mpi(call(&communicator_), name);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }
  // Collective. Does nothing in a forked child: MPI is the parent's.
  void release();

 private:
  const uint64_t generation_ = fork_generation();
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace swath
