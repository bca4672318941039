#include "mpi_io/errors.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <string>

#include "mpi_io/files.h"
#include "mpi_io/real.h"
#include "mpi_io/report.h"

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

// Makes an error code of that class with a text of its own. Returns the class itself if this MPI (such as MPICH) allows
// no texts for codes added to its predefined classes.
int new_code(int error_class) {
  int code = error_class;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  int its_class = 0;
  const std::string said = "a text of Swath";
  const bool is_made = MPI_Add_error_code(error_class, &code) == MPI_SUCCESS &&
                       MPI_Add_error_string(code, said.c_str()) == MPI_SUCCESS &&
                       MPI_Error_class(code, &its_class) == MPI_SUCCESS && its_class == error_class &&
                       MPI_Error_string(code, text, &length) == MPI_SUCCESS && said == text;
  return is_made ? code : error_class;
}

// The error code of a class, with the text of the latest error: one code a class, however many errors occur.
int code_of(int error_class, const std::string& text) {
  static std::mutex mutex;
  static std::map<int, int> codes;
  const std::lock_guard guard(mutex);
  const auto known = codes.find(error_class);
  const int code = known != codes.end() ? known->second : codes[error_class] = new_code(error_class);
  if (code != error_class) MPI_Add_error_string(code, text.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
  return code;
}

// Prints errors of the store, since not every MPI can return their text by MPI_Error_string. Other errors may be
// deliberate tests of the program, so they are printed only if a report is wanted. If all ranks have the error, rank 0
// prints it.
void say_once(MPI_File file, const Error& error) {
  if (error.kind() != ErrorKind::kStore && !report_is_wanted()) return;
  const std::string text = error.what();
  const auto served = served_file(file);
  const bool is_of_all = text.starts_with("rank ");
  if (!is_of_all || served == nullptr || served->rank() == 0) say(text);
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
  say_once(file, error);
  const int code = code_of(class_of(error), error.what());
  real().File_call_errhandler(file, code);
  return code;
}

}  // namespace swath::mpi_io
