// Calls on files as a whole.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <type_traits>

#include "posix_trace/posix_call.h"
#include "posix_trace/real.h"

using swath::posix_trace::forget;
using swath::posix_trace::on_file;
using swath::posix_trace::on_path;
using swath::posix_trace::opening;

namespace {

// The mode argument of open(), which exists only if the call may create a file.
mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

// Folders are not traced.
template <typename Status, typename Work>
int status_of_path(const char* path, const void* caller, const Status* status, Work work) {
  return on_path("stat", path, caller, work, [&](int result) { return result < 0 || S_ISREG(status->st_mode); });
}

constexpr int kFlagsOfCreat = O_CREAT | O_WRONLY | O_TRUNC;

bool is_always_wanted(int /*result*/) { return true; }

}  // namespace

#define SWATH_MODE                               \
  va_list arguments;                             \
  va_start(arguments, flags);                    \
  const mode_t mode = mode_of(flags, arguments); \
  va_end(arguments)

SWATH_EXPORT int open(const char* path, int flags, ...) {
  SWATH_MODE;
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(open)(path, flags, mode); });
}

SWATH_EXPORT int open64(const char* path, int flags, ...) {
  SWATH_MODE;
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(open64)(path, flags, mode); });
}

SWATH_EXPORT int openat(int folder, const char* path, int flags, ...) {
  SWATH_MODE;
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(openat)(folder, path, flags, mode); });
}

SWATH_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  SWATH_MODE;
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(openat64)(folder, path, flags, mode); });
}

SWATH_EXPORT int creat(const char* path, mode_t mode) {
  return opening("posix", path, kFlagsOfCreat, SWATH_CALLER, [&] { return SWATH_REAL(creat)(path, mode); });
}

SWATH_EXPORT int creat64(const char* path, mode_t mode) {
  return opening("posix", path, kFlagsOfCreat, SWATH_CALLER, [&] { return SWATH_REAL(creat64)(path, mode); });
}

// NOLINTBEGIN(bugprone-reserved-identifier): names of the C library.
// Programs that are compiled with _FORTIFY_SOURCE call these.
SWATH_EXPORT int __open_2(const char* path, int flags);
SWATH_EXPORT int __open_2(const char* path, int flags) {
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(__open_2)(path, flags); });
}

SWATH_EXPORT int __open64_2(const char* path, int flags);
SWATH_EXPORT int __open64_2(const char* path, int flags) {
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(__open64_2)(path, flags); });
}

SWATH_EXPORT int __openat_2(int folder, const char* path, int flags);
SWATH_EXPORT int __openat_2(int folder, const char* path, int flags) {
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(__openat_2)(folder, path, flags); });
}

SWATH_EXPORT int __openat64_2(int folder, const char* path, int flags);
SWATH_EXPORT int __openat64_2(int folder, const char* path, int flags) {
  return opening("posix", path, flags, SWATH_CALLER, [&] { return SWATH_REAL(__openat64_2)(folder, path, flags); });
}
// NOLINTEND(bugprone-reserved-identifier)

// The cache entry is removed before the close: afterwards, another thread may get the same descriptor number.
SWATH_EXPORT int close(int descriptor) {
  return on_file({.name = "close"}, descriptor, SWATH_CALLER, [&] {
    forget(descriptor);
    return SWATH_REAL(close)(descriptor);
  });
}

SWATH_EXPORT int dup2(int from, int to) noexcept {
  if (from != to) forget(to);
  return SWATH_REAL(dup2)(from, to);
}

SWATH_EXPORT int dup3(int from, int to, int flags) noexcept {
  forget(to);
  return SWATH_REAL(dup3)(from, to, flags);
}

SWATH_EXPORT off_t lseek(int descriptor, off_t offset, int whence) noexcept {
  return swath::posix_trace::seek(descriptor, SWATH_CALLER,
                                  [&] { return SWATH_REAL(lseek)(descriptor, offset, whence); });
}

SWATH_EXPORT off64_t lseek64(int descriptor, off64_t offset, int whence) noexcept {
  return swath::posix_trace::seek(descriptor, SWATH_CALLER,
                                  [&] { return SWATH_REAL(lseek64)(descriptor, offset, whence); });
}

SWATH_EXPORT int fsync(int descriptor) {
  return on_file({.name = "sync"}, descriptor, SWATH_CALLER, [&] { return SWATH_REAL(fsync)(descriptor); });
}

SWATH_EXPORT int fdatasync(int descriptor) {
  return on_file({.name = "sync"}, descriptor, SWATH_CALLER, [&] { return SWATH_REAL(fdatasync)(descriptor); });
}

SWATH_EXPORT int ftruncate(int descriptor, off_t bytes) noexcept {
  return on_file({.name = "truncate", .offset = bytes}, descriptor, SWATH_CALLER,
                 [&] { return SWATH_REAL(ftruncate)(descriptor, bytes); });
}

SWATH_EXPORT int ftruncate64(int descriptor, off64_t bytes) noexcept {
  return on_file({.name = "truncate", .offset = bytes}, descriptor, SWATH_CALLER,
                 [&] { return SWATH_REAL(ftruncate64)(descriptor, bytes); });
}

SWATH_EXPORT int fstat(int descriptor, struct stat* status) noexcept {
  return on_file({.name = "stat"}, descriptor, SWATH_CALLER, [&] { return SWATH_REAL(fstat)(descriptor, status); });
}

SWATH_EXPORT int fstat64(int descriptor, struct stat64* status) noexcept {
  return on_file({.name = "stat"}, descriptor, SWATH_CALLER, [&] { return SWATH_REAL(fstat64)(descriptor, status); });
}

SWATH_EXPORT int stat(const char* path, struct stat* status) noexcept {
  return status_of_path(path, SWATH_CALLER, status, [&] { return SWATH_REAL(stat)(path, status); });
}

SWATH_EXPORT int stat64(const char* path, struct stat64* status) noexcept {
  return status_of_path(path, SWATH_CALLER, status, [&] { return SWATH_REAL(stat64)(path, status); });
}

SWATH_EXPORT int lstat(const char* path, struct stat* status) noexcept {
  return status_of_path(path, SWATH_CALLER, status, [&] { return SWATH_REAL(lstat)(path, status); });
}

SWATH_EXPORT int lstat64(const char* path, struct stat64* status) noexcept {
  return status_of_path(path, SWATH_CALLER, status, [&] { return SWATH_REAL(lstat64)(path, status); });
}

SWATH_EXPORT int unlink(const char* path) noexcept {
  return on_path("unlink", path, SWATH_CALLER, [&] { return SWATH_REAL(unlink)(path); }, is_always_wanted);
}

SWATH_EXPORT int rename(const char* from, const char* to) noexcept {
  return on_path("rename", to, SWATH_CALLER, [&] { return SWATH_REAL(rename)(from, to); }, is_always_wanted);
}

// Accesses through the mapped memory are not traced.
SWATH_EXPORT void* mmap(void* address, size_t bytes, int protection, int flags, int descriptor, off_t offset) noexcept {
  return swath::posix_trace::mapping(descriptor, SWATH_CALLER, offset, [&] {
    return SWATH_REAL(mmap)(address, bytes, protection, flags, descriptor, offset);
  });
}

SWATH_EXPORT void* mmap64(void* address, size_t bytes, int protection, int flags, int descriptor,
                          off64_t offset) noexcept {
  return swath::posix_trace::mapping(descriptor, SWATH_CALLER, offset, [&] {
    return SWATH_REAL(mmap64)(address, bytes, protection, flags, descriptor, offset);
  });
}
