// Operations that go on in the background, as requests of MPI (generalized requests).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "mpi_io/file.h"

namespace swath::mpi_io {

// Starts it, behind what was started before of the same kind. `move` returns how many bytes it moved, or throws: then
// whoever waits for the request gets the error (calls_waits.cc). Where MPI does not serve several threads it is done
// when this returns.
MPI_Request start_in_background(const std::shared_ptr<ServedFile>& file, bool collective,
                                std::function<int64_t()> move);

// Whether any of these requests is not freed yet.
bool any_is_started();

// Frees what operations that are over have held, datatypes of MPI among it: not from inside MPI. The calls that start
// and complete requests do so.
void release_finished();

// A request that was completed, and whose operation had failed.
struct FailedRequest {
  MPI_Request request;
  std::shared_ptr<ServedFile> file;
  Error error;
};
// Those that this thread has completed since it asked last. MPI knows nothing of it: what it did with an error of a
// generalized request would be the communicators' handlers, not the file's.
std::vector<FailedRequest> take_failed_requests();

}  // namespace swath::mpi_io
