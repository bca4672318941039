/* The program around a contender: makes the values, runs a small dump, then the timed one.
 *   PROGRAM PATH FORMAT VARIABLES COMPRESSES SHAPE GRID      e.g. dump.nc4 netcdf4 24 1 16,512,512 1,2,2
 * Rank 0 prints the seconds from the first rank's start until all have ended, with the file on the medium. */
#include <fcntl.h>
#include <libgen.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump.h"

void must(int is_right, const char* what, const char* why) {
  if (is_right) return;
  fprintf(stderr, "%s: %s\n", what, why == NULL ? "failed" : why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

const char* variable_name(int number) {
  static char name[16];
  snprintf(name, sizeof name, "v%04d", number);
  return name;
}

/* Element i of variable v: a slope with noise of twelve bits, exact in float, which compresses to
 * about a half as fields of simulations do; checks.py has the same. */
static float value(int variable, int64_t i) {
  uint32_t mixed = (uint32_t)i * 2654435761U;
  mixed = (mixed ^ mixed >> 15) * 2246822519U;
  const uint32_t noise = (mixed ^ mixed >> 13) >> 20;
  return (float)variable + (float)(i % 1000) / 8 + (float)noise / 4096;
}

static void numbers(const char* text, int64_t* found, int* count) {
  *count = 0;
  for (const char* at = text; at != NULL && *count < kDimensionsMax; at = strchr(at, ','), at += at != NULL) {
    found[(*count)++] = strtoll(at, NULL, 10);
  }
}

/* This rank's block, by HPF's rule, and its values; the last dimension of the grid is the fastest. */
static void share(dump* d) {
  int place = d->rank;
  d->elements = 1;
  for (int along = d->ndim - 1; along >= 0; --along) {
    const int64_t block = (d->shape[along] + d->grid[along] - 1) / d->grid[along];
    const int64_t begin = block * (place % d->grid[along]);
    d->begin[along] = begin < d->shape[along] ? begin : d->shape[along];
    d->count[along] = d->shape[along] - d->begin[along] < block ? d->shape[along] - d->begin[along] : block;
    d->elements *= d->count[along];
    place /= d->grid[along];
  }
}

static void fill(dump* d) {
  d->values = malloc((size_t)d->variables * sizeof *d->values);
  must(d->values != NULL, "memory", NULL);
  for (int v = 0; v < d->variables; ++v) {
    d->values[v] = malloc((size_t)(d->elements + 1) * sizeof(float));
    must(d->values[v] != NULL, "memory", NULL);
    for (int64_t at = 0; at < d->elements; ++at) {
      int64_t left = at, whole = 0, stride = 1;
      for (int along = d->ndim - 1; along >= 0; --along) {
        whole += stride * (d->begin[along] + left % d->count[along]);
        stride *= d->shape[along];
        left /= d->count[along];
      }
      d->values[v][at] = value(v, whole);
    }
  }
}

static void sync_path(const char* path) {
  const int fd = open(path, O_RDONLY);
  must(fd >= 0 && fsync(fd) == 0, path, "cannot be synced");
  close(fd);
}

static double timed(const dump* d) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  write_dump(d);
  if (!kFileIsSynced && d->rank == 0) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", d->path);
    sync_path(d->path);
    sync_path(dirname(folder));
  }
  double own = MPI_Wtime() - begin, seconds = 0;
  MPI_Allreduce(&own, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

int main(int count, char** arguments) {
  dump d = {0};
  int64_t grid[kDimensionsMax];
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &d.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &d.ranks);
  must(count == 7, "usage", "PATH FORMAT VARIABLES COMPRESSES SHAPE GRID");
  d.format = arguments[2];
  d.variables = atoi(arguments[3]);
  d.compresses = atoi(arguments[4]);
  numbers(arguments[5], d.shape, &d.ndim);
  numbers(arguments[6], grid, &d.ndim);
  for (int along = 0; along < d.ndim; ++along) d.grid[along] = (int)grid[along];
  share(&d);
  fill(&d);

  char first[4096];
  dump small = d;
  snprintf(first, sizeof first, "%s.first", arguments[1]);
  small.path = first;
  small.variables = d.variables < 2 ? d.variables : 2;
  timed(&small);
  if (d.rank == 0) unlink(first);

  d.path = arguments[1];
  const double seconds = timed(&d);
  if (d.rank == 0) printf("{\"seconds\": %.6f}\n", seconds);
  for (int v = 0; v < d.variables; ++v) free(d.values[v]);
  free(d.values);
  MPI_Finalize();
  return 0;
}
