#include "mpi_io/errors.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <string>

#include "mpi_io/real.h"

namespace swath::mpi_io {
namespace {

int class_of_errno(int error) {
  switch (error) {
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
      return MPI_ERR_BAD_FILE;
    case ENOMEM:
      return MPI_ERR_NO_MEM;
    default:
      return MPI_ERR_IO;
  }
}

// A code of that class whose text can be said anew: one a class, however many errors there are.
int code_of(int error_class, const std::string& text) {
  static std::mutex mutex;
  static std::map<int, int> codes;
  const std::lock_guard guard(mutex);
  const auto known = codes.find(error_class);
  int code = known != codes.end() ? known->second : error_class;
  if (known == codes.end()) {
    if (MPI_Add_error_code(error_class, &code) != MPI_SUCCESS) code = error_class;
    int its_class = 0;
    if (code != error_class && (MPI_Error_class(code, &its_class) != MPI_SUCCESS || its_class != error_class)) {
      code = error_class;  // an MPI that adds no codes to classes of its own
    }
    codes[error_class] = code;
  }
  if (code != error_class) {
    const std::string shown = text.substr(0, MPI_MAX_ERROR_STRING - 1);
    MPI_Add_error_string(code, shown.c_str());
  }
  return code;
}

}  // namespace

Error refused(int error_class, const std::string& what) { return {ErrorKind::kArgument, what, -error_class}; }

Error error_of(const MpiError& error) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(error.code(), &error_class);
  return refused(error_class, error.text());
}

int class_of(const Error& error) {
  if (error.os_error() < 0) return -error.os_error();
  switch (error.kind()) {
    case ErrorKind::kArgument:
      return MPI_ERR_ARG;
    case ErrorKind::kDisagreement:
      return MPI_ERR_NOT_SAME;
    case ErrorKind::kUnsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case ErrorKind::kInternal:
      return MPI_ERR_INTERN;
    default:
      return class_of_errno(error.os_error());
  }
}

int raise(MPI_File file, const Error& error) {
  const int code = code_of(class_of(error), error.what());
  real().File_call_errhandler(file, code);
  return code;
}

}  // namespace swath::mpi_io
