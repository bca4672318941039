// Calls on the C library's buffered streams. Their bytes are those between the program and the stream's buffer. Calls
// that parse or format text (fprintf, fscanf, fgets, getc, …) are not traced.
#include <cstdio>
#include <type_traits>

#include "posix_trace/posix_call.h"
#include "posix_trace/real.h"

namespace swath::posix_trace {
namespace {

int descriptor_of(FILE* stream) { return stream == nullptr ? -1 : fileno_unlocked(stream); }

template <typename Work>
FILE* opening_stream(const char* path, const void* caller, Work work) {
  const bool traced = is_traced(caller) && path != nullptr;
  const double began = traced ? now() : 0;
  FILE* const stream = work();
  if (traced) add_open("stdio", path, descriptor_of(stream), began);
  return stream;
}

// `work` returns the number of moved items, each of `item` bytes.
template <typename Work>
size_t transfer_items(const char* name, FILE* stream, size_t item, const void* caller, Work work) {
  Path path = path_to_trace(descriptor_of(stream), caller);
  if (path == nullptr) return work();
  const double began = now();
  const size_t done = work();
  add_stream_transfer(name, std::move(path), stream, static_cast<int64_t>(done * item), began);
  return done;
}

template <typename Work>
int on_stream(const char* name, FILE* stream, const void* caller, Work work) {
  Path path = path_to_trace(descriptor_of(stream), caller);
  if (path == nullptr) return work();
  const double began = now();
  const int result = work();
  add({.name = name, .category = "stdio", .path = std::move(path), .error = result != 0 ? errno : 0}, began);
  return result;
}

}  // namespace
}  // namespace swath::posix_trace

using swath::posix_trace::forget;
using swath::posix_trace::on_stream;
using swath::posix_trace::opening_stream;
using swath::posix_trace::transfer_items;

SWATH_EXPORT FILE* fopen(const char* path, const char* mode) {
  return opening_stream(path, SWATH_CALLER, [&] { return SWATH_REAL(fopen)(path, mode); });
}

SWATH_EXPORT FILE* fopen64(const char* path, const char* mode) {
  return opening_stream(path, SWATH_CALLER, [&] { return SWATH_REAL(fopen64)(path, mode); });
}

SWATH_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return opening_stream(path, SWATH_CALLER, [&] { return SWATH_REAL(freopen)(path, mode, stream); });
}

SWATH_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return opening_stream(path, SWATH_CALLER, [&] { return SWATH_REAL(freopen64)(path, mode, stream); });
}

SWATH_EXPORT int fclose(FILE* stream) {
  const int descriptor = swath::posix_trace::descriptor_of(stream);
  return on_stream("close", stream, SWATH_CALLER, [&] {
    if (swath::trace::is_active()) forget(descriptor);
    return SWATH_REAL(fclose)(stream);
  });
}

SWATH_EXPORT int fflush(FILE* stream) {
  return on_stream("flush", stream, SWATH_CALLER, [&] { return SWATH_REAL(fflush)(stream); });
}

SWATH_EXPORT size_t fread(void* data, size_t item, size_t count, FILE* stream) {
  return transfer_items("read", stream, item, SWATH_CALLER,
                        [&] { return SWATH_REAL(fread)(data, item, count, stream); });
}

SWATH_EXPORT size_t fread_unlocked(void* data, size_t item, size_t count, FILE* stream) {
  return transfer_items("read", stream, item, SWATH_CALLER,
                        [&] { return SWATH_REAL(fread_unlocked)(data, item, count, stream); });
}

// NOLINTBEGIN(bugprone-reserved-identifier): the name is the C library's.
SWATH_EXPORT size_t __fread_chk(void* data, size_t room, size_t item, size_t count, FILE* stream);
SWATH_EXPORT size_t __fread_chk(void* data, size_t room, size_t item, size_t count, FILE* stream) {
  return transfer_items("read", stream, item, SWATH_CALLER,
                        [&] { return SWATH_REAL(__fread_chk)(data, room, item, count, stream); });
}
// NOLINTEND(bugprone-reserved-identifier)

SWATH_EXPORT size_t fwrite(const void* data, size_t item, size_t count, FILE* stream) {
  return transfer_items("write", stream, item, SWATH_CALLER,
                        [&] { return SWATH_REAL(fwrite)(data, item, count, stream); });
}

SWATH_EXPORT size_t fwrite_unlocked(const void* data, size_t item, size_t count, FILE* stream) {
  return transfer_items("write", stream, item, SWATH_CALLER,
                        [&] { return SWATH_REAL(fwrite_unlocked)(data, item, count, stream); });
}
