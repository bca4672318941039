// Collectives and messages over an MPI communicator: nonblocking MPI calls with sleeps between polls, since a rank that
// spins takes the core from the rank it waits for. Any number of bytes, though MPI counts end at 2 GiB.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "comm/comm.h"
#include "comm/mpi_communicator.h"

namespace swath {

// Waits until a request is complete. `call` is the name of the MPI call that started it.
void wait_for(MPI_Request request, const char* call);

// Collective, each as in Comm.
void barrier_over(MPI_Comm communicator);
void allgather_over(MPI_Comm communicator, std::span<const std::byte> mine, std::span<std::byte> all);
void broadcast_over(MPI_Comm communicator, std::span<std::byte> data, int root);
// Among the ranks `peers` of the communicator; the caller is the one at index `place`.
void allreduce_over(MPI_Comm communicator, std::span<const int> peers, int place, std::span<std::byte> record,
                    const Combine& combine);
void exchange_over(MPI_Comm communicator, std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives);

template <typename T>
std::vector<T> gather_values(MPI_Comm communicator, const T& mine) {
  std::vector<T> all(rank_and_size(communicator).size);
  allgather_over(communicator, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace swath
