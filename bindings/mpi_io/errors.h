// Conversion of errors between Swath and MPI.
//
// Ranks agree on errors of Swath (core/comm/agreement.h). An MPI error class is sent with them, as a negative os_error;
// all ranks have the same MPI.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "mpi_io/mpi_error.h"

namespace swath::mpi_io {

// The error for a refused call: one of MPI's error classes (MPI_ERR_COUNT, …) with a text.
Error refused(int error_class, const std::string& what);
Error error_of(const MpiError& error);
// The closest MPI error class: MPI_ERR_NO_SPACE, MPI_ERR_IO, ….
int class_of(const Error& error);

// Calls the file's error handler, once, as MPI does, and returns the code for the caller. MPI_Error_string of the code
// returns the error's text. `file`: MPI_FILE_NULL if none is open.
int raise(MPI_File file, const Error& error);

// The same for the error that the work throws; MPI_SUCCESS if it throws none.
template <typename Work>
int guarded(MPI_File file, const Work& work) {
  try {
    work();
    return MPI_SUCCESS;
  } catch (const Error& error) {
    return raise(file, error);
  } catch (const MpiError& error) {
    return raise(file, error_of(error));
  } catch (const std::bad_alloc&) {
    return raise(file, refused(MPI_ERR_NO_MEM, "out of memory"));
  }
}

// The Error that the work throws, if any: for an agreement of the ranks.
template <typename Work>
std::optional<Error> failure_in(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  } catch (const MpiError& error) {
    return error_of(error);
  } catch (const std::bad_alloc&) {
    return refused(MPI_ERR_NO_MEM, "out of memory");
  }
  return std::nullopt;
}

}  // namespace swath::mpi_io
