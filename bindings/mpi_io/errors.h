// Errors of Swath and of MPI, one made of the other.
//
// Ranks agree on errors of Swath (core/comm/agreement.h). What is one of MPI's own classes travels with them, as a
// negative os_error; all ranks have the same MPI.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "mpi_io/mpi_error.h"

namespace swath::mpi_io {

// What a call refuses: one of MPI's error classes (MPI_ERR_COUNT, …), in words.
Error refused(int error_class, const std::string& what);
Error error_of(const MpiError& error);
// The class of MPI that says most of it: MPI_ERR_NO_SPACE, MPI_ERR_IO, ….
int class_of(const Error& error);

// Tells the file's error handler, once, as MPI does, and returns the code for the caller. MPI_Error_string of it says
// what the error says. `file`: MPI_FILE_NULL where none is open.
int raise(MPI_File file, const Error& error);

// The same where the work throws; MPI_SUCCESS where it does not.
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

// The error that work throws, if any: for ranks that tell each other.
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
