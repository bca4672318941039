/* The common part of the programs: NAME=VALUE arguments, and phases with their seconds and their memory.

   Each program is a plain MPI program: PROGRAM FILE [NAME=VALUE ...]. It leaves FILE, and rank 0 prints a line of JSON
   for each phase. The code does not depend on the drop-in. */

#ifndef SWATH_BENCH_MPI_IO_PHASES_H
#define SWATH_BENCH_MPI_IO_PHASES_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank_, ranks_;
static double phase_begin_seconds_;
static long phase_begin_kilobytes_;

static void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "rank %d: %s: %s\n", rank_, what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void refuse(const char* what) {
  if (rank_ == 0) fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static void begin_program(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  if (*argc < 2) refuse("expected: PROGRAM FILE [NAME=VALUE ...]");
}

static const char* text_argument(int argc, char** argv, const char* name, const char* otherwise) {
  size_t length = strlen(name);
  for (int i = 2; i < argc; i++)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return argv[i] + length + 1;
  return otherwise;
}

static long long argument(int argc, char** argv, const char* name, long long otherwise) {
  const char* text = text_argument(argc, argv, name, NULL);
  return text ? atoll(text) : otherwise;
}

/* A line of /proc/self/status in kB: VmRSS, the resident memory; VmHWM, its maximum. */
static long status_kilobytes(const char* name) {
  char line[256];
  long found = 0;
  FILE* status = fopen("/proc/self/status", "r");
  if (!status) return 0;
  while (fgets(line, sizeof line, status))
    if (strncmp(line, name, strlen(name)) == 0) found = atol(line + strlen(name) + 1);
  fclose(status);
  return found;
}

static void begin_phase(void) {
  FILE* clear = fopen("/proc/self/clear_refs", "w");
  if (clear) { /* "5" resets VmHWM */
    fputs("5", clear);
    fclose(clear);
  }
  phase_begin_kilobytes_ = status_kilobytes("VmRSS");
  MPI_Barrier(MPI_COMM_WORLD);
  phase_begin_seconds_ = MPI_Wtime();
}

/* The seconds of the slowest rank, and the largest growth of a rank's memory since the beginning. */
static void end_phase(const char* name, long long bytes) {
  double mine[2] = {MPI_Wtime() - phase_begin_seconds_, 0}, most[2] = {0, 0};
  long more = status_kilobytes("VmHWM") - phase_begin_kilobytes_;
  mine[1] = more > 0 ? 1024.0 * (double)more : 0;
  MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank_ == 0)
    printf("{\"phase\": \"%s\", \"seconds\": %.6f, \"bytes\": %lld, \"memory_bytes\": %.0f}\n", name, most[0], bytes,
           most[1]);
}

/* The value that belongs to a place of the file, the same for every number of ranks. */
static double value_at(long long place) { return (double)((place * 2654435761LL) % 1000003LL); }

static void require_value(double found, long long place) {
  if (found == value_at(place)) return;
  fprintf(stderr, "rank %d: element %lld is %g, expected %g\n", rank_, place, found, value_at(place));
  MPI_Abort(MPI_COMM_WORLD, 3);
}

#endif
