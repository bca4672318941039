// Calls on the C library's buffered streams. Their bytes are those between the program and the stream's buffer. Calls
// that parse or format text (fprintf, fscanf, fgets, getc, …) are not traced.
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <utility>

#include "posix_trace/posix_call.h"
#include "posix_trace/real.h"

namespace {

using swath::posix_trace::Call;
using swath::posix_trace::descriptor_of;
using swath::posix_trace::forget;
using swath::posix_trace::on_file;
using swath::posix_trace::opening;
using swath::posix_trace::path_to_trace;
using swath::posix_trace::position_before;

// `work` transfers items of `item` bytes, and returns their number.
template <typename Work>
size_t transfer_items(const char* name, FILE* stream, size_t item, const void* caller, Work work) {
  auto path = path_to_trace(descriptor_of(stream), caller);
  return traced(Call{.name = name, .category = "stdio", .path = std::move(path)}, work, [&](Call& call, size_t done) {
    call.bytes = static_cast<int64_t>(done * item);
    call.offset = position_before(stream, call.bytes);
    if (ferror_unlocked(stream) != 0) call.error = EIO;
  });
}

// The flags with which the C library opens a file for a mode of fopen().
int flags_of(const char* mode) {
  const std::string_view words = mode == nullptr ? "" : mode;
  const char first = words.empty() ? 'r' : words.front();
  const int access = words.find('+') != std::string_view::npos ? O_RDWR : first == 'r' ? O_RDONLY : O_WRONLY;
  return access | (first == 'r' ? 0 : O_CREAT) | (first == 'w' ? O_TRUNC : 0) | (first == 'a' ? O_APPEND : 0);
}

}  // namespace

SWATH_EXPORT FILE* fopen(const char* path, const char* mode) {
  return opening("stdio", path, flags_of(mode), SWATH_CALLER, [&] { return SWATH_REAL(fopen)(path, mode); });
}

SWATH_EXPORT FILE* fopen64(const char* path, const char* mode) {
  return opening("stdio", path, flags_of(mode), SWATH_CALLER, [&] { return SWATH_REAL(fopen64)(path, mode); });
}

SWATH_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return opening("stdio", path, flags_of(mode), SWATH_CALLER, [&] { return SWATH_REAL(freopen)(path, mode, stream); });
}

SWATH_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return opening("stdio", path, flags_of(mode), SWATH_CALLER,
                 [&] { return SWATH_REAL(freopen64)(path, mode, stream); });
}

SWATH_EXPORT int fclose(FILE* stream) {
  const int descriptor = descriptor_of(stream);
  return on_file({.name = "close", .category = "stdio"}, stream, SWATH_CALLER, [&] {
    forget(descriptor);
    return SWATH_REAL(fclose)(stream);
  });
}

SWATH_EXPORT int fflush(FILE* stream) {
  return on_file({.name = "flush", .category = "stdio"}, stream, SWATH_CALLER,
                 [&] { return SWATH_REAL(fflush)(stream); });
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
