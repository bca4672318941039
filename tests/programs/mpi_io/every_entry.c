// Calls functions of MPI, twice each, from several threads at the same time, and prints the function of fake_mpi.c that
// each call has reached: "MPI_File_open: MPI_File_open". Exit status 1 if arguments or errno did not arrive.
// Usage: every_entry THREADS [--local LIBMPI] [--six COUNT] [NAME]
//   --local   the MPI is not linked, but loaded as Python loads it: its names are not global
//   --six     an MPI that takes six arguments only; COUNT is the third and the fourth
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long (*Function)(long, long, long, long, long, long, long, long, double, double);

static const char* const names[] = {
#define SWATH_MPI_FUNCTION(name) "MPI_" #name, "PMPI_" #name,
#define SWATH_MPI_LARGE_FUNCTION(name) "MPI_" #name "_c", "PMPI_" #name "_c",
#include "functions.h"
};
enum { NAMES = sizeof names / sizeof names[0] };

static const char* only;
static long third = 300;
static long fourth = 4000;
static long behind_the_sixth = 49000000 + 640000000L + 250 + 5000;
static const char* (*called)(void);
static pthread_barrier_t start;
static const char* reached[NAMES];
static int wrong;

static void call(int i) {
  const Function function = (Function)dlsym(RTLD_DEFAULT, names[i]);
  if (function == NULL) {
    return;
  }
  errno = E2BIG;
  const long result = function(1, 20, third, fourth, 50000, 600000, 7000000, 80000000, 0.25, 0.5);
  const long expected = 1 + 40 + 3 * third + 4 * fourth + 250000 + 3600000 + behind_the_sixth;
  if (result != expected || errno != E2BIG) {
    fprintf(stderr, "%s: %ld instead of %ld, errno %d\n", names[i], result, expected, errno);
    wrong = 1;
  }
  reached[i] = called();
}

static void* call_all(void* unused) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < NAMES; ++i) {
      if (only == NULL || strcmp(only, names[i]) == 0) {
        if (round == 0) {
          pthread_barrier_wait(&start);
        }
        call(i);
      }
    }
  }
  return unused;
}

int main(int argc, char** argv) {
  const int threads = atoi(argv[1]);
  void* libmpi = RTLD_DEFAULT;
  int next = 2;
  if (argc > next && strcmp(argv[next], "--local") == 0) {
    libmpi = dlopen(argv[next + 1], RTLD_NOW | RTLD_LOCAL);
    next += 2;
  }
  if (argc > next && strcmp(argv[next], "--six") == 0) {
    third = fourth = atol(argv[next + 1]);
    behind_the_sixth = 0;
    next += 2;
  }
  only = argc > next ? argv[next] : NULL;
  called = (const char* (*)(void))dlsym(libmpi, "fake_mpi_called");
  if (libmpi != RTLD_DEFAULT && dlsym(RTLD_DEFAULT, "fake_mpi_called") != NULL) {
    fprintf(stderr, "the MPI is not loaded for this program alone\n");
    return 1;
  }
  pthread_barrier_init(&start, NULL, threads);
  pthread_t started[64];
  for (int i = 0; i < threads; ++i) {
    pthread_create(&started[i], NULL, call_all, NULL);
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(started[i], NULL);
  }
  for (int i = 0; i < NAMES; ++i) {
    if (reached[i] != NULL) {
      printf("%s: %s\n", names[i], reached[i]);
    }
  }
  return wrong;
}
