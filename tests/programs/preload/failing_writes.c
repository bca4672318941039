// `pwrite` fails with EIO once, at the call with this number: fail_write(number).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>

static long calls = 0, broken = -1;

void fail_write(long number) {
  calls = 0;
  broken = number;
}
long writes(void) { return calls; }

static ssize_t counted(const char* name, int file, const void* bytes, size_t count, off64_t offset) {
  ssize_t (*real)(int, const void*, size_t, off64_t) = dlsym(RTLD_NEXT, name);
  if (__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) == broken) {
    errno = EIO;
    return -1;
  }
  return real(file, bytes, count, offset);
}
ssize_t pwrite(int f, const void* b, size_t n, off_t o) { return counted("pwrite", f, b, n, o); }
ssize_t pwrite64(int f, const void* b, size_t n, off64_t o) { return counted("pwrite64", f, b, n, o); }
