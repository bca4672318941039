/* PnetCDF: all variables are posted, and written by one collective call. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdlib.h>

#include "dump.h"

const int kFileIsSynced = 0;

static void ask(int status) { must(status == NC_NOERR, "pnetcdf", ncmpi_strerror(status)); }

void write_dump(const dump* d) {
  int file, dimensions[kDimensionsMax];
  int* variables = malloc((size_t)d->variables * sizeof *variables);
  const char* const names[] = {"d0", "d1", "d2"};
  MPI_Offset begin[kDimensionsMax], count[kDimensionsMax];
  must(variables != NULL, "memory", NULL);
  ask(ncmpi_create(MPI_COMM_WORLD, d->path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  for (int along = 0; along < d->ndim; ++along) {
    ask(ncmpi_def_dim(file, names[along], d->shape[along], &dimensions[along]));
    begin[along] = d->begin[along];
    count[along] = d->count[along];
  }
  for (int v = 0; v < d->variables; ++v) {
    ask(ncmpi_def_var(file, variable_name(v), NC_FLOAT, d->ndim, dimensions, &variables[v]));
  }
  ask(ncmpi_enddef(file));
  for (int v = 0; v < d->variables; ++v) {
    ask(ncmpi_iput_vara_float(file, variables[v], begin, count, d->values[v], NULL));
  }
  ask(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL));
  ask(ncmpi_close(file));
  free(variables);
}
