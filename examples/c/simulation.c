/* A simulation dumps its state and is started again from the last record: blocks of rows, one a rank.
 *   mpiexec -n 4 simulation FILE STEPS      begins a file, or goes on with one that is there
 * The suffix says the format: .nc4, .h5 or .zarr (compressed), .nc3. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swath/swath_mpi.h>

#define ROWS 45
#define COLUMNS 90

/* Errors are the same on all ranks: rank 0 prints them. */
static void must(int kind) {
  int rank;
  if (kind == SWATH_OK) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "simulation: %s\n", swath_error_message());
  MPI_Finalize();
  exit(1);
}

typedef struct {
  swath_file* file;
  swath_array *time, *temperature;
} run;

static run begin(const char* path) {
  run new;
  const int64_t shape[] = {SWATH_UNLIMITED, ROWS, COLUMNS}, chunks[] = {1, ROWS, COLUMNS};
  const char* const names[] = {"time", "y", "x"};
  const double start = 0.5;
  swath_options options;
  swath_options_init(&options);
  if (strstr(path, ".nc3") == NULL) {
    options.chunks = chunks;
    options.codecs = "shuffle,zlib:4";
  }
  must(swath_file_create_mpi(MPI_COMM_WORLD, path, NULL, &new.file));
  must(swath_set_attribute(new.file, NULL, "title", "text", -1, "a simulation"));
  must(swath_define(new.file, "time", 1, shape, names, "f8", NULL, &new.time));
  must(swath_define(new.file, "temperature", 3, shape, names, "f4", &options, &new.temperature));
  must(swath_set_attribute(new.file, "temperature", "units", "text", -1, "K"));
  must(swath_set_attribute(new.file, "temperature", "start", "f8", 1, &start));
  must(swath_file_sync(new.file)); /* from here on the file has its name, and whole records */
  return new;
}

static run go_on(const char* path) {
  run old;
  must(swath_file_open_mpi(MPI_COMM_WORLD, path, "r+", NULL, &old.file));
  must(swath_variable(old.file, "time", &old.time));
  must(swath_variable(old.file, "temperature", &old.temperature));
  return old;
}

int main(int count, char** arguments) {
  int rank, ranks;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count < 3) return fprintf(stderr, "usage: simulation FILE STEPS\n"), 2;
  FILE* there = fopen(arguments[1], "r"); /* a .zarr folder opens, too */
  if (there != NULL) fclose(there);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody begins the file before all have looked */
  run r = there == NULL ? begin(arguments[1]) : go_on(arguments[1]);

  /* This rank's rows, with a border of one row on each side, as simulations have them. */
  swath_distribution* rows;
  int64_t mine[2], shape[SWATH_DIMENSIONS_MAX];
  must(swath_distribution_create(2, (swath_rule[]){{SWATH_BLOCK, 0}, {SWATH_WHOLE, 0}}, (int[]){ranks, 1}, &rows));
  must(swath_local_shape(rows, 2, (int64_t[]){ROWS, COLUMNS}, rank, mine));
  float (*t)[COLUMNS] = calloc((size_t)mine[0] + 2, sizeof *t);
  const int64_t strides[] = {COLUMNS * (int64_t)sizeof(float), sizeof(float)};

  must(swath_inquire(r.temperature, NULL, shape, NULL));
  if (shape[0] > 0) { /* the state is the last record */
    swath_distribution* last;
    const swath_slice slices[] = {{shape[0] - 1, shape[0], 1}, {0, SWATH_END, 1}, {0, SWATH_END, 1}};
    const int64_t record[] = {0, strides[0], strides[1]};
    must(swath_distribution_create(3, (swath_rule[]){{SWATH_WHOLE, 0}, {SWATH_BLOCK, 0}, {SWATH_WHOLE, 0}},
                                   (int[]){1, ranks, 1}, &last));
    must(swath_read(r.temperature, last, slices, t[1], record));
    swath_distribution_free(last);
  }
  for (int step = 0; step < atoi(arguments[2]); ++step) {
    const double now = 0.5 * (double)(shape[0] + step);
    for (int64_t i = 1; i <= mine[0]; ++i) {
      for (int j = 0; j < COLUMNS; ++j) t[i][j] += (float)(j + 1);
    }
    must(swath_append(r.time, NULL, &now, NULL)); /* rank 0 has it */
    must(swath_append(r.temperature, rows, t[1], strides));
  }
  must(swath_inquire(r.temperature, NULL, shape, NULL));
  if (rank == 0) printf("%s: %d records of %d x %d\n", arguments[1], (int)shape[0], (int)shape[1], (int)shape[2]);
  swath_distribution_free(rows);
  free(t);
  must(swath_file_close(r.file));
  MPI_Finalize();
  return 0;
}
