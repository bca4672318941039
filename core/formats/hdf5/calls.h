// Calls of HDF5's library: one thread at a time, no printed errors, handles that close themselves, exceptions.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "formats/hdf5/call_lock.h"
#include "formats/hdf5/library.h"

namespace swath::formats::hdf5 {

// While this object lives, its thread may call the library, and the library prints no errors. It may be nested. A
// forked child does not wait for threads of its parent.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Library& found_ = library();  // before the lock: the search may need a lock whose owner waits for ours
  CallLock lock_;
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

// A call failed. The message has the first and the last text of HDF5's error stack: "Unable to open file (truncated
// file)".
class CallError : public std::runtime_error {
 public:
  CallError(const std::string& message, int os_error) : std::runtime_error(message), os_error_(os_error) {}
  int os_error() const { return os_error_; }  // 0 if HDF5 gives none

 private:
  int os_error_;
};

// Throws the CallError of the last call.
[[noreturn]] void fail_call();

// Returns the result of a call; throws if it is negative, which means failure.
template <typename T>
T checked(T result) {
  if (result < 0) fail_call();
  return result;
}

// An identifier of the library; the destructor closes it.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(checked(id)) {}
  ~Handle() { close(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  hid_t get() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  hid_t release() { return std::exchange(id_, -1); }

 private:
  void close() {
    if (id_ >= 0) library().H5Idec_ref(id_);
  }

  hid_t id_ = -1;
};

// A function that an iteration of the library calls back. If it throws, the iteration ends, and finish() throws the
// exception again.
class Callback {
 public:
  // Runs `work`; returns the value by which the library continues or stops.
  template <typename Work>
  herr_t run(const Work& work) noexcept {
    try {
      work();
      return 0;
    } catch (...) {
      raised_ = std::current_exception();
      return -1;
    }
  }
  // Call this after the iteration, with its result.
  void finish(herr_t result) {
    if (raised_) std::rethrow_exception(raised_);
    checked(result);
  }

 private:
  std::exception_ptr raised_;
};

// Text that the library allocated, as bytes; empty for null.
std::string taken_text(char* text);

}  // namespace swath::formats::hdf5
