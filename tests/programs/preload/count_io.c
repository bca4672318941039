// Preloaded into a program, this logs every positioned read and write as the program called the C library:
//
//   r 4096 /tmp/data.bin      pread, preadv or preadv2 returned 4096
//   w -1 /tmp/data.bin        pwrite, pwritev or pwritev2 failed
//
// into $SWATH_COUNT_LOG, one line a call. It sees neither transfers of io_uring nor raw system calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int log_descriptor = -1;

__attribute__((constructor)) static void open_log(void) {
  const char* path = getenv("SWATH_COUNT_LOG");
  if (path != NULL) log_descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static ssize_t logged(char direction, int descriptor, ssize_t moved) {
  const int error = errno;
  char link[64];
  char path[1024];
  char line[1200];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  const int bytes = snprintf(line, sizeof line, "%c %zd %s\n", direction, moved, path);
  if (log_descriptor >= 0 && write(log_descriptor, line, (size_t)bytes) != bytes) abort();
  errno = error;
  return moved;
}

// The next function of that name, in the C library.
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

#define PLAIN(name, direction, pointer)                                                     \
  ssize_t name(int descriptor, pointer data, size_t bytes, off_t offset) {                  \
    typedef ssize_t (*call)(int, pointer, size_t, off_t);                                   \
    static call real;                                                                       \
    if (real == NULL) real = REAL(call, #name);                                             \
    return logged(direction, descriptor, real(descriptor, data, bytes, offset));            \
  }
#define VECTORED(name, direction)                                                           \
  ssize_t name(int descriptor, const struct iovec* pieces, int count, off_t offset) {       \
    typedef ssize_t (*call)(int, const struct iovec*, int, off_t);                          \
    static call real;                                                                       \
    if (real == NULL) real = REAL(call, #name);                                             \
    return logged(direction, descriptor, real(descriptor, pieces, count, offset));          \
  }
#define VECTORED_WITH_FLAGS(name, direction)                                                \
  ssize_t name(int descriptor, const struct iovec* pieces, int count, off_t offset, int flags) { \
    typedef ssize_t (*call)(int, const struct iovec*, int, off_t, int);                     \
    static call real;                                                                       \
    if (real == NULL) real = REAL(call, #name);                                             \
    return logged(direction, descriptor, real(descriptor, pieces, count, offset, flags));   \
  }

// off_t is 64 bits wide here (test_kernel_counts.py compiles for 64-bit machines), so both names take the same.
PLAIN(pread, 'r', void*)
PLAIN(pread64, 'r', void*)
PLAIN(pwrite, 'w', const void*)
PLAIN(pwrite64, 'w', const void*)
VECTORED(preadv, 'r')
VECTORED(preadv64, 'r')
VECTORED(pwritev, 'w')
VECTORED(pwritev64, 'w')
VECTORED_WITH_FLAGS(preadv2, 'r')
VECTORED_WITH_FLAGS(preadv64v2, 'r')
VECTORED_WITH_FLAGS(pwritev2, 'w')
VECTORED_WITH_FLAGS(pwritev64v2, 'w')
