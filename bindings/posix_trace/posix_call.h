// Traces the program's calls on files.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "posix_trace/callers.h"
#include "posix_trace/traced_files.h"
#include "trace/trace.h"

namespace swath::posix_trace {

// A call and its result. `name` and `category` are string literals: "read", "write", "open", …; "posix", "stdio".
struct Call {
  const char* name;
  const char* category = "posix";
  Path path = nullptr;
  std::optional<int64_t> offset = std::nullopt;  // in the file
  int64_t bytes = 0;                             // moved bytes
  int error = 0;                                 // an errno value; 0: none
};

// Seconds of the real clock.
double now();
// Adds the call to the trace. Preserves errno.
void add(const Call& call, double began);

// True if a call from this address is to be traced.
inline bool is_traced(const void* caller) {
  return trace::is_active() && !Untraced::is_active() && !is_of_swath(caller);
}

// The path of the file; null if a call on it from this address is not traced. Preserves errno.
Path path_to_trace(int descriptor, const void* caller);

// The position of an open file before the last `bytes` bytes; nullopt if the file has no position. This and the
// functions below preserve errno, too.
std::optional<int64_t> position_before(int descriptor, int64_t bytes);
// Adds a call that has opened a file; a negative `descriptor`: it has failed.
void add_open(const char* category, const char* path, int descriptor, double began);
// Adds a finished call with a path.
void add_of_path(const char* name, const char* path, int result, double began);

// Adds a transfer of a stream of the C library.
void add_stream_transfer(const char* name, Path path, FILE* stream, int64_t bytes, double began);

// Makes a call that transfers bytes of an open file, and traces it. `offset`: nullopt if the call uses the file's
// position.
template <typename Work>
ssize_t transfer(const char* name, int descriptor, const void* caller, std::optional<int64_t> offset, Work work) {
  Path path = path_to_trace(descriptor, caller);
  if (path == nullptr) return work();
  const double began = now();
  const ssize_t done = work();
  Call call{.name = name, .path = std::move(path), .offset = offset, .bytes = done < 0 ? 0 : done};
  if (done < 0) call.error = errno;
  if (!call.offset) call.offset = position_before(descriptor, call.bytes);
  add(call, began);
  return done;
}

// Makes another call on an open file, and traces it. The call returns a negative number on failure.
template <typename Work>
int on_descriptor(const char* name, int descriptor, const void* caller, Work work) {
  Path path = path_to_trace(descriptor, caller);
  if (path == nullptr) return work();
  const double began = now();
  const int result = work();
  add({.name = name, .path = std::move(path), .error = result < 0 ? errno : 0}, began);
  return result;
}

// Makes a call that opens a file, and traces it. Returns its descriptor or a negative number.
template <typename Work>
int opening(const char* path, const void* caller, Work work) {
  const bool traced = is_traced(caller);
  const double began = traced ? now() : 0;
  const int descriptor = work();
  if (traced) add_open("posix", path, descriptor, began);
  return descriptor;
}

// Makes a call with a path, and traces it.
template <typename Work>
int on_path(const char* name, const char* path, const void* caller, Work work) {
  const bool traced = is_traced(caller);
  const double began = traced ? now() : 0;
  const int result = work();
  if (traced) add_of_path(name, path, result, began);
  return result;
}

// Makes a call that changes the position of an open file, and traces it. Returns the new position or a negative number.
template <typename Work>
int64_t seek(int descriptor, const void* caller, Work work) {
  Path path = path_to_trace(descriptor, caller);
  if (path == nullptr) return work();
  const double began = now();
  const int64_t position = work();
  Call call{.name = "seek", .path = std::move(path)};
  if (position < 0) {
    call.error = errno;
  } else {
    call.offset = position;
  }
  add(call, began);
  return position;
}

// Makes a call that maps a part of an open file into memory, and traces it.
template <typename Work>
void* mapping(int descriptor, const void* caller, int64_t offset, Work work) {
  Path path = descriptor < 0 ? nullptr : path_to_trace(descriptor, caller);
  if (path == nullptr) return work();
  const double began = now();
  void* const memory = work();
  const bool has_failed = reinterpret_cast<intptr_t>(memory) == -1;
  add({.name = "map", .path = std::move(path), .offset = offset, .error = has_failed ? errno : 0}, began);
  return memory;
}

}  // namespace swath::posix_trace
