/* A process that a signal ends says where it was: the functions of C, the innermost first, in a file. */
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int file = -1;

static void write_and_end(int number) {
  void* frames[100];
  int count = backtrace(frames, 100);
  if (ftruncate(file, 0) != 0) _exit(97);
  lseek(file, 0, SEEK_SET);
  backtrace_symbols_fd(frames, count, file);
  signal(number, SIG_DFL);
  raise(number);
}

/* Of signals of damaged memory, aborts, and of timers. Returns 0. */
int write_backtraces_to(const char* path) {
  static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF, SIGALRM};
  static char stack[1 << 16]; /* one that has overflown cannot be used */
  stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = write_and_end, .sa_flags = SA_ONSTACK | SA_NODEFER};
  void* first[1];
  backtrace(first, 1); /* loads what it needs */
  file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || sigaltstack(&own, NULL) != 0) return -1;
  for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; ++i) sigaction(ends[i], &action, NULL);
  return 0;
}
