/* What ranks do together while one of them is killed; each has a block of every record.
 *   killed_ranks begin FILE     makes a file of two records
 *   killed_ranks replace FILE   makes another in its place, of values that are 100 greater
 *   killed_ranks append FILE    adds a record to a variable */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <swath/swath_mpi.h>

enum { kLength = 600 };

static swath_distribution* blocks;

static int must(int kind) {
  if (kind != 0) fprintf(stderr, "killed_ranks: %s\n", swath_error_message());
  return kind;
}

static int append(swath_array* array, int record, int base) {
  const int64_t shape[] = {kLength};
  int rank, ranks;
  int64_t count;
  int32_t values[kLength];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  swath_local_shape(blocks, 1, shape, rank, &count);
  for (int i = 0; i < count; ++i) values[i] = base + kLength * record + rank * ((kLength + ranks - 1) / ranks) + i;
  return must(swath_append(array, blocks, values, NULL));
}

static int make(const char* path, int base) {
  swath_file* file;
  swath_array *t, *u;
  const int64_t shape[] = {SWATH_UNLIMITED, kLength}, chunks[] = {1, kLength / 4};
  const char* const names[] = {"time", "x"};
  swath_options options, of_chunks;
  swath_options_init(&options);
  swath_options_init(&of_chunks);
  options.overwrite = 1;
  if (strstr(path, ".nc3") == NULL) of_chunks.chunks = chunks, of_chunks.codecs = "shuffle,zlib:1";
  if (must(swath_file_create_mpi(MPI_COMM_WORLD, path, &options, &file)) ||
      must(swath_define(file, "t", 2, shape, names, "i4", &of_chunks, &t)) ||
      must(swath_define(file, "u", 2, shape, names, "i4", &of_chunks, &u))) {
    return 1;
  }
  for (int record = 0; record < 2; ++record) {
    if (append(t, record, base) || append(u, record, base)) return 1;
  }
  return must(swath_file_close(file));
}

static int add_record(const char* path) {
  swath_file* file;
  swath_array* t;
  if (must(swath_file_open_mpi(MPI_COMM_WORLD, path, "r+", NULL, &file)) || must(swath_variable(file, "t", &t))) {
    return 1;
  }
  const int kind = append(t, 2, 0);
  return must(swath_file_close(file)) || kind;
}

int main(int count, char** arguments) {
  int ranks, kind = 2;
  const swath_rule rule = {SWATH_BLOCK, 0};
  MPI_Init(&count, &arguments);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count == 3 && swath_distribution_create(1, &rule, &ranks, &blocks) == 0) {
    if (strcmp(arguments[1], "begin") == 0) kind = make(arguments[2], 0);
    if (strcmp(arguments[1], "replace") == 0) kind = make(arguments[2], 100);
    if (strcmp(arguments[1], "append") == 0) kind = add_record(arguments[2]);
    swath_distribution_free(blocks);
  }
  MPI_Finalize();
  return kind;
}
