// Operations in the background, as MPI's generalized requests.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "mpi_io/file.h"

namespace swath::mpi_io {

// Starts an operation after earlier ones of the same kind. `move` returns the bytes moved, or throws: then the wait for
// the request returns the error (calls_waits.cc). If MPI does not allow several threads, the operation is done on
// return.
MPI_Request start_in_background(const std::shared_ptr<ServedFile>& file, bool collective,
                                std::function<int64_t()> move);

// True if any of these requests is not freed yet.
bool any_is_started();

// Frees the resources of finished operations, including MPI datatypes: must not be called from inside MPI. Calls that
// start or complete requests use it.
void release_finished();

// A completed request whose operation has failed.
struct FailedRequest {
  MPI_Request request;
  std::shared_ptr<ServedFile> file;
  Error error;
};
// The requests that this thread has completed since its last call. MPI does not know of their errors: it would call the
// communicator's error handler for a generalized request, not the file's.
std::vector<FailedRequest> take_failed_requests();

}  // namespace swath::mpi_io
