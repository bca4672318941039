#include "errors.h"

#include <string>

#include "swath/swath.h"

namespace swath::c_interface {
namespace {

struct Failure {
  int kind = SWATH_OK;
  int os_error = 0;
  std::string message;
};

thread_local Failure last_failure;

static_assert(SWATH_ERROR_ARGUMENT == static_cast<int>(ErrorKind::kArgument));
static_assert(SWATH_ERROR_STORE == static_cast<int>(ErrorKind::kStore));
static_assert(SWATH_ERROR_FORMAT == static_cast<int>(ErrorKind::kFormat));
static_assert(SWATH_ERROR_DISAGREEMENT == static_cast<int>(ErrorKind::kDisagreement));
static_assert(SWATH_ERROR_UNSUPPORTED == static_cast<int>(ErrorKind::kUnsupported));
static_assert(SWATH_ERROR_INTERNAL == static_cast<int>(ErrorKind::kInternal));
static_assert(SWATH_ERROR_INTERRUPTED == static_cast<int>(ErrorKind::kInterrupted));

}  // namespace

int remember(const Error& error) noexcept {
  const bool is_known = error.kind() > ErrorKind::kNone && error.kind() <= ErrorKind::kInterrupted;
  last_failure.kind = is_known ? static_cast<int>(error.kind()) : SWATH_ERROR_INTERNAL;
  last_failure.os_error = error.os_error();
  try {
    last_failure.message = error.what();
  } catch (...) {
    last_failure.message.clear();  // no memory for the message
  }
  return last_failure.kind;
}

}  // namespace swath::c_interface

const char* swath_error_message(void) { return swath::c_interface::last_failure.message.c_str(); }
int swath_error_kind(void) { return swath::c_interface::last_failure.kind; }
int swath_error_errno(void) { return swath::c_interface::last_failure.os_error; }
int swath_fail(int kind, const char* message) {
  const swath::Error error(static_cast<swath::ErrorKind>(kind), message == nullptr ? "" : message);
  return swath::c_interface::remember(error);
}
const char* swath_version(void) { return SWATH_VERSION; }
