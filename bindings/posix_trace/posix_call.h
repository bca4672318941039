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
  std::optional<int64_t> offset = std::nullopt;  // in the file; of a truncation, the new length
  int64_t bytes = 0;                             // moved bytes
  std::optional<int> flags = std::nullopt;       // with which a file was opened
  int error = 0;                                 // an errno value; 0: none

  void note_error(bool has_failed) { error = has_failed ? errno : 0; }
};

// Seconds of the real clock.
double now();
// True if a call from this address is to be traced.
inline bool is_traced(const void* caller) {
  return trace::is_active() && !Untraced::is_active() && !is_of_swath(caller);
}

// These functions preserve errno. Adds a call to the trace.
void add(const Call& call, double began);
// The path of the file; null if a call on it from this address is not traced.
Path path_to_trace(int descriptor, const void* caller);
// The position of an open file before the last `bytes` bytes; nullopt if the file has no position.
std::optional<int64_t> position_before(int descriptor, int64_t bytes);
// The same for a stream of the C library.
std::optional<int64_t> position_before(FILE* stream, int64_t bytes);
// Adds a call that has opened a file; a negative `descriptor`: it has failed. `call`: its category and flags.
void add_open(Call call, const char* path, int descriptor, double began);
// Adds a finished call with a path.
void add_of_path(const char* name, const char* path, int result, double began);

inline int descriptor_of(int descriptor) { return descriptor; }
inline int descriptor_of(FILE* stream) { return stream == nullptr ? -1 : fileno_unlocked(stream); }

// Makes a call on an open file by `work`, and returns its result. If the call has a path, it is traced: `complete` puts
// the result into it.
template <typename Work, typename Complete>
auto traced(Call call, Work work, Complete complete) -> decltype(work()) {
  if (call.path == nullptr) return work();
  const double began = now();
  const auto result = work();
  complete(call, result);
  add(call, began);
  return result;
}

// A call that transfers bytes of an open file. `offset`: nullopt if the call uses the file's position.
template <typename Work>
ssize_t transfer(const char* name, int descriptor, const void* caller, std::optional<int64_t> offset, Work work) {
  return traced({.name = name, .path = path_to_trace(descriptor, caller), .offset = offset}, work,
                [&](Call& call, ssize_t done) {
                  call.note_error(done < 0);
                  call.bytes = done < 0 ? 0 : done;
                  if (!offset) call.offset = position_before(descriptor, call.bytes);
                });
}

// A call that changes the position of an open file. It returns the new position, or a negative number on failure.
template <typename Work>
int64_t seek(int descriptor, const void* caller, Work work) {
  return traced({.name = "seek", .path = path_to_trace(descriptor, caller)}, work, [](Call& call, int64_t position) {
    call.note_error(position < 0);
    if (position >= 0) call.offset = position;
  });
}

// A call that maps a part of an open file into memory.
template <typename Work>
void* mapping(int descriptor, const void* caller, int64_t offset, Work work) {
  Path path = descriptor < 0 ? nullptr : path_to_trace(descriptor, caller);
  return traced({.name = "map", .path = std::move(path), .offset = offset}, work,
                [](Call& call, const void* memory) { call.note_error(reinterpret_cast<intptr_t>(memory) == -1); });
}

// Another call on an open file or stream. It returns a negative number on failure.
template <typename File, typename Work>
int on_file(Call call, File file, const void* caller, Work work) {
  call.path = path_to_trace(descriptor_of(file), caller);
  return traced(std::move(call), work, [](Call& made, int result) { made.note_error(result < 0); });
}

// A call that opens a file, and returns its descriptor or stream.
template <typename Work>
auto opening(const char* category, const char* path, int flags, const void* caller, Work work) -> decltype(work()) {
  const bool is_wanted = path != nullptr && is_traced(caller);
  const double began = is_wanted ? now() : 0;
  const auto opened = work();
  if (is_wanted) {
    add_open({.name = "open", .category = category, .flags = flags}, path, descriptor_of(opened), began);
  }
  return opened;
}

// A call with a path. `is_wanted(result)`: whether it is traced.
template <typename Work, typename IsWanted>
int on_path(const char* name, const char* path, const void* caller, Work work, IsWanted is_wanted) {
  const double began = is_traced(caller) ? now() : 0;
  const int result = work();
  if (began != 0 && is_wanted(result)) add_of_path(name, path, result, began);
  return result;
}

}  // namespace swath::posix_trace
