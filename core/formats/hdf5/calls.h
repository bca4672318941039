// Calls of HDF5's library: one thread at a time, quiet, with handles that close themselves and errors that are thrown.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "formats/hdf5/call_lock.h"
#include "formats/hdf5/library.h"

namespace swath::formats::hdf5 {

// For as long as it lives this thread may call the library, which prints no errors meanwhile. May be nested. A forked
// child waits for no thread of its parent.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Library& found_ = library();  // before the lock: to find it may need what a thread has that waits for us
  CallLock lock_;
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

// A call failed. Its words are the first and the last of HDF5's stack of errors: "Unable to open file (truncated
// file)".
class CallError : public std::runtime_error {
 public:
  CallError(const std::string& message, int os_error) : std::runtime_error(message), os_error_(os_error) {}
  int os_error() const { return os_error_; }  // 0 where HDF5 names none

 private:
  int os_error_;
};

// Throws the CallError of the call before.
[[noreturn]] void fail_call();

// What a call returns, which is negative where it failed.
template <typename T>
T checked(T result) {
  if (result < 0) fail_call();
  return result;
}

// An identifier of the library, given back when the handle goes.
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

// An iterator of the library calls back: what is thrown there is kept, the iteration ends, and it is thrown again
// behind.
class Callback {
 public:
  // Does `work`; returns what the library goes on by.
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
  // After the iteration, with what it returned.
  void finish(herr_t result) {
    if (raised_) std::rethrow_exception(raised_);
    checked(result);
  }

 private:
  std::exception_ptr raised_;
};

// Text that the library has allocated, as bytes; empty for null.
std::string taken_text(char* text);

}  // namespace swath::formats::hdf5
