// Operations that go on beside the program, as requests of MPI (generalized requests).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "mpi_io/file.h"

namespace swath::mpi_io {

// Starts it, behind what was started before of the same kind. `move` returns how many bytes it moved, or throws: then
// the file's error handler is told when the request is waited for, and its status has the error. Where MPI does not
// serve several threads it is done when this returns.
MPI_Request start_beside(const std::shared_ptr<ServedFile>& file, bool collective, std::function<int64_t()> move);

}  // namespace swath::mpi_io
