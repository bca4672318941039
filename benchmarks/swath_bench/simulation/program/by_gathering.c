/* netCDF-C: rank 0 gathers every variable, compresses and writes it. The blocks are rows, so they are contiguous. */
#include <mpi.h>
#include <netcdf.h>
#include <stdlib.h>

#include "dump.h"

const int kFileIsSynced = 0;

static void ask(int status) { must(status == NC_NOERR, "netcdf", nc_strerror(status)); }

static int created(const dump* d, int* variables) {
  int file, unused, dimensions[kDimensionsMax];
  size_t chunks[kDimensionsMax];
  const char* const names[] = {"d0", "d1", "d2"};
  ask(nc_create(d->path, NC_NETCDF4 | NC_CLOBBER, &file));
  ask(nc_set_fill(file, NC_NOFILL, &unused));
  for (int along = 0; along < d->ndim; ++along) {
    ask(nc_def_dim(file, names[along], (size_t)d->shape[along], &dimensions[along]));
    chunks[along] = (size_t)d->count[along];
  }
  for (int v = 0; v < d->variables; ++v) {
    ask(nc_def_var(file, variable_name(v), NC_FLOAT, d->ndim, dimensions, &variables[v]));
    if (!d->compresses) continue;
    ask(nc_def_var_chunking(file, variables[v], NC_CHUNKED, chunks));
    ask(nc_def_var_deflate(file, variables[v], 1, 1, kDeflateLevel));
  }
  ask(nc_enddef(file));
  return file;
}

void write_dump(const dump* d) {
  const int here = (int)d->elements;
  int *counts = malloc(2 * (size_t)d->ranks * sizeof *counts), *places = counts + d->ranks;
  int *variables = malloc((size_t)d->variables * sizeof *variables), file = 0;
  int64_t all = 1;
  for (int along = 0; along < d->ndim; ++along) all *= d->shape[along];
  float* whole = d->rank == 0 ? malloc((size_t)all * sizeof *whole) : NULL;
  must(counts != NULL && variables != NULL && (whole != NULL || d->rank != 0), "memory", NULL);
  MPI_Gather(&here, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  places[0] = 0;
  for (int rank = 1; d->rank == 0 && rank < d->ranks; ++rank) places[rank] = places[rank - 1] + counts[rank - 1];
  if (d->rank == 0) file = created(d, variables);
  for (int v = 0; v < d->variables; ++v) {
    MPI_Gatherv(d->values[v], here, MPI_FLOAT, whole, counts, places, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (d->rank == 0) ask(nc_put_var_float(file, variables[v], whole));
  }
  if (d->rank == 0) ask(nc_close(file));
  free(whole);
  free(variables);
  free(counts);
}
