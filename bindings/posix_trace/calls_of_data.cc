// Calls that transfer bytes of a file descriptor.
#include <sys/sendfile.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <type_traits>

#include "posix_trace/posix_call.h"
#include "posix_trace/real.h"

using swath::posix_trace::transfer;

SWATH_EXPORT ssize_t read(int descriptor, void* data, size_t bytes) {
  return transfer("read", descriptor, SWATH_CALLER, {}, [&] { return SWATH_REAL(read)(descriptor, data, bytes); });
}

SWATH_EXPORT ssize_t write(int descriptor, const void* data, size_t bytes) {
  return transfer("write", descriptor, SWATH_CALLER, {}, [&] { return SWATH_REAL(write)(descriptor, data, bytes); });
}

SWATH_EXPORT ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  return transfer("read", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(pread)(descriptor, data, bytes, offset); });
}

SWATH_EXPORT ssize_t pread64(int descriptor, void* data, size_t bytes, off64_t offset) {
  return transfer("read", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(pread64)(descriptor, data, bytes, offset); });
}

SWATH_EXPORT ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return transfer("write", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(pwrite)(descriptor, data, bytes, offset); });
}

SWATH_EXPORT ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  return transfer("write", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(pwrite64)(descriptor, data, bytes, offset); });
}

SWATH_EXPORT ssize_t readv(int descriptor, const iovec* pieces, int count) {
  return transfer("read", descriptor, SWATH_CALLER, {}, [&] { return SWATH_REAL(readv)(descriptor, pieces, count); });
}

SWATH_EXPORT ssize_t writev(int descriptor, const iovec* pieces, int count) {
  return transfer("write", descriptor, SWATH_CALLER, {}, [&] { return SWATH_REAL(writev)(descriptor, pieces, count); });
}

SWATH_EXPORT ssize_t preadv(int descriptor, const iovec* pieces, int count, off_t offset) {
  return transfer("read", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(preadv)(descriptor, pieces, count, offset); });
}

SWATH_EXPORT ssize_t preadv64(int descriptor, const iovec* pieces, int count, off64_t offset) {
  return transfer("read", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(preadv64)(descriptor, pieces, count, offset); });
}

SWATH_EXPORT ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) {
  return transfer("write", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(pwritev)(descriptor, pieces, count, offset); });
}

SWATH_EXPORT ssize_t pwritev64(int descriptor, const iovec* pieces, int count, off64_t offset) {
  return transfer("write", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(pwritev64)(descriptor, pieces, count, offset); });
}

// With flags. -1 stands for the file's position; an appended write is at the end of the file, whatever the offset says.
namespace {
std::optional<int64_t> given_offset(int64_t offset, int flags) {
  return offset == -1 || (flags & RWF_APPEND) != 0 ? std::nullopt : std::optional<int64_t>(offset);
}
}  // namespace

SWATH_EXPORT ssize_t preadv2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
  return transfer("read", descriptor, SWATH_CALLER, given_offset(offset, flags),
                  [&] { return SWATH_REAL(preadv2)(descriptor, pieces, count, offset, flags); });
}

SWATH_EXPORT ssize_t preadv64v2(int descriptor, const iovec* pieces, int count, off64_t offset, int flags) {
  return transfer("read", descriptor, SWATH_CALLER, given_offset(offset, flags),
                  [&] { return SWATH_REAL(preadv64v2)(descriptor, pieces, count, offset, flags); });
}

SWATH_EXPORT ssize_t pwritev2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
  return transfer("write", descriptor, SWATH_CALLER, given_offset(offset, flags),
                  [&] { return SWATH_REAL(pwritev2)(descriptor, pieces, count, offset, flags); });
}

SWATH_EXPORT ssize_t pwritev64v2(int descriptor, const iovec* pieces, int count, off64_t offset, int flags) {
  return transfer("write", descriptor, SWATH_CALLER, given_offset(offset, flags),
                  [&] { return SWATH_REAL(pwritev64v2)(descriptor, pieces, count, offset, flags); });
}

// NOLINTBEGIN(bugprone-reserved-identifier): names of the C library.
// Programs that are compiled with _FORTIFY_SOURCE call these; `room` is the size of the memory at `data`. The C
// library's own function compares the two.
SWATH_EXPORT ssize_t __read_chk(int descriptor, void* data, size_t bytes, size_t room);
SWATH_EXPORT ssize_t __read_chk(int descriptor, void* data, size_t bytes, size_t room) {
  return transfer("read", descriptor, SWATH_CALLER, {},
                  [&] { return SWATH_REAL(__read_chk)(descriptor, data, bytes, room); });
}

SWATH_EXPORT ssize_t __pread_chk(int descriptor, void* data, size_t bytes, off_t offset, size_t room);
SWATH_EXPORT ssize_t __pread_chk(int descriptor, void* data, size_t bytes, off_t offset, size_t room) {
  return transfer("read", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(__pread_chk)(descriptor, data, bytes, offset, room); });
}

SWATH_EXPORT ssize_t __pread64_chk(int descriptor, void* data, size_t bytes, off64_t offset, size_t room);
SWATH_EXPORT ssize_t __pread64_chk(int descriptor, void* data, size_t bytes, off64_t offset, size_t room) {
  return transfer("read", descriptor, SWATH_CALLER, offset,
                  [&] { return SWATH_REAL(__pread64_chk)(descriptor, data, bytes, offset, room); });
}
// NOLINTEND(bugprone-reserved-identifier)

// Copies from file to file in the kernel.
SWATH_EXPORT ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t bytes,
                                     unsigned flags) {
  return transfer("copy", to, SWATH_CALLER, to_offset == nullptr ? std::nullopt : std::optional<int64_t>(*to_offset),
                  [&] { return SWATH_REAL(copy_file_range)(from, from_offset, to, to_offset, bytes, flags); });
}

SWATH_EXPORT ssize_t sendfile(int to, int from, off_t* offset, size_t bytes) noexcept {
  return transfer("copy", to, SWATH_CALLER, {}, [&] { return SWATH_REAL(sendfile)(to, from, offset, bytes); });
}

SWATH_EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, size_t bytes) noexcept {
  return transfer("copy", to, SWATH_CALLER, {}, [&] { return SWATH_REAL(sendfile64)(to, from, offset, bytes); });
}
