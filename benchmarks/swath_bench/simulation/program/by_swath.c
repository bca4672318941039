/* Swath: one call on every rank for each variable. */
#include <stdlib.h>
#include <swath/swath_mpi.h>

#include "dump.h"

const int kFileIsSynced = 1;

static void ask(int kind) { must(kind == SWATH_OK, "swath", swath_error_message()); }

void write_dump(const dump* d) {
  swath_file* file;
  swath_array** arrays = malloc((size_t)d->variables * sizeof *arrays);
  swath_distribution* blocks;
  swath_options of_file, of_variable;
  swath_rule rules[kDimensionsMax];
  const char* const names[] = {"d0", "d1", "d2"};
  for (int along = 0; along < d->ndim; ++along) {
    rules[along] = (swath_rule){d->grid[along] > 1 ? SWATH_BLOCK : SWATH_WHOLE, 0};
  }
  swath_options_init(&of_file);
  swath_options_init(&of_variable);
  of_file.format = d->format;
  if (d->compresses) {
    of_variable.chunks = d->count;
    of_variable.codecs = "shuffle,zlib:1";
  }
  must(arrays != NULL, "memory", NULL);
  ask(swath_distribution_create(d->ndim, rules, d->grid, &blocks));
  ask(swath_file_create_mpi(MPI_COMM_WORLD, d->path, &of_file, &file));
  for (int v = 0; v < d->variables; ++v) {
    ask(swath_define(file, variable_name(v), d->ndim, d->shape, names, "f4", &of_variable, &arrays[v]));
  }
  for (int v = 0; v < d->variables; ++v) ask(swath_write(arrays[v], blocks, NULL, d->values[v], NULL));
  ask(swath_file_close(file));
  swath_distribution_free(blocks);
  free(arrays);
}
