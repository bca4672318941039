// Errors for people: what was wrong, where, what was expected, what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace swath {

// The kind of an error: it decides which exception a binding raises.
enum class ErrorKind : int {
  kNone = 0,
  kArgument = 1,      // the caller asked for something impossible; nothing was changed
  kStore = 2,         // the system refused or cut short a transfer; os_error says why
  kFormat = 3,        // a file's metadata is inconsistent
  kDisagreement = 4,  // ranks of one collective operation asked for different things
  kUnsupported = 5,   // a valid request that this build, kernel or file cannot carry out
  kInternal = 6,      // a bug in Swath
  kInterrupted = 7,   // interrupted (interrupt.h): written elements are partly old, partly new
  kLeft = 8,          // a rank has left a loop of all of them (comm/agreement.h); os_error is the loop's number
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, int os_error = 0)
      : std::runtime_error(message), kind_(kind), os_error_(os_error) {}

  ErrorKind kind() const { return kind_; }
  // An errno value; 0: no system call failed.
  int os_error() const { return os_error_; }

 private:
  ErrorKind kind_;
  int os_error_;
};

[[noreturn]] inline void fail_argument(const std::string& message) { throw Error(ErrorKind::kArgument, message); }

}  // namespace swath
