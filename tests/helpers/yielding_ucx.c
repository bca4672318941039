/* A rank that waits inside UCX lets others work.
 *
 * MPICH over UCX polls without a pause. With more ranks than cores each of them uses up its time slice that way, and
 * one MPI_File_open takes 50 ms. In front of libucp this function sleeps for 20 us whenever nothing has happened for a
 * while. Suites run so without and with the drop-in.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

enum { POLLS_BEFORE_SLEEP = 20, SLEEP_NANOSECONDS = 20000 };

typedef unsigned progress_function(void *worker);

static progress_function *find_progress(void) {
  void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD); /* which may be no global library */
  progress_function *found = ucp ? (progress_function *)dlsym(ucp, "ucp_worker_progress") : NULL;
  if (!found) abort();
  return found;
}

unsigned ucp_worker_progress(void *worker) {
  static progress_function *real;
  static __thread int polls;
  if (!real) real = find_progress();
  unsigned happened = real(worker);
  if (happened) {
    polls = 0;
  } else if (++polls > POLLS_BEFORE_SLEEP) {
    struct timespec pause = {0, SLEEP_NANOSECONDS};
    nanosleep(&pause, NULL);
  }
  return happened;
}
