/* A program outside of Swath's tree, for the ranks of MPI: c_calls FOLDER
 * FOLDER has absent.h5 (with unallocated chunks of "n") and szip.h5 (only HDF5's library reads its "v"). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swath/swath_mpi.h>

#define ROWS 7
#define COLUMNS 5

static int rank, ranks;
static char path[4096];

static const char *in(const char *folder, const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void check(int is_right, const char *what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: not right: %s (%s)\n", rank, what, swath_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All ranks have the same error, of the expected kind, with these words. */
static void check_error(int kind, int expected, const char *words) {
  char mine[4096] = "", first[4096];
  snprintf(mine, sizeof mine, "%d %s", kind, swath_error_message());
  memcpy(first, mine, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  check(strcmp(mine, first) == 0, "the same error on all ranks");
  check(kind == expected && strstr(mine, words) != NULL, words);
}

static swath_distribution *dealt(int kind_of_rows) {
  const swath_rule rules[] = {{kind_of_rows, 0}, {SWATH_WHOLE, 0}};
  const int grid[] = {ranks, 1};
  swath_distribution *made;
  check(swath_distribution_create(2, rules, grid, &made) == 0, "a distribution");
  return made;
}

static int32_t *memory_of(const swath_distribution *whose, int64_t *count) {
  const int64_t shape[] = {ROWS, COLUMNS};
  int64_t local[2];
  check(swath_local_shape(whose, 2, shape, rank, local) == 0, "a local shape");
  *count = local[0] * local[1];
  return calloc((size_t)*count + 1, sizeof(int32_t));
}

static void redistribute_and_dump(const char *folder) {
  const int64_t shape[] = {ROWS, COLUMNS};
  swath_distribution *cyclic = dealt(SWATH_CYCLIC), *blocks = dealt(SWATH_BLOCK);
  int64_t count, count_of_blocks;
  int32_t *mine = memory_of(cyclic, &count), *new = memory_of(blocks, &count_of_blocks);
  for (int64_t i = 0; i < count; ++i) mine[i] = (int32_t)((i / COLUMNS * ranks + rank) * COLUMNS + i % COLUMNS);
  check(swath_redistribute_mpi(MPI_COMM_WORLD, 2, shape, "i4", cyclic, mine, blocks, new) == 0, "redistributed");
  const int64_t first = (ROWS + ranks - 1) / ranks * rank * COLUMNS;
  for (int64_t i = 0; i < count_of_blocks; ++i) check(new[i] == first + i, "an element that was redistributed");
  check_error(swath_redistribute_mpi(MPI_COMM_WORLD, 2, shape, rank == ranks - 1 ? "i9" : "i4", cyclic, mine, blocks, new),
              SWATH_ERROR_ARGUMENT, "dtype 'i9'");

  swath_array *array;
  swath_request *request;
  check(swath_create_mpi(MPI_COMM_WORLD, in(folder, "blocks.npy"), NULL, 2, shape, "i4", NULL, &array) == 0, "created");
  check(swath_write_async(array, blocks, NULL, new, NULL, &request) == 0, "a write is started");
  check(swath_wait(request) == 0, "written");
  check(swath_close(array) == 0, "closed");
  check(swath_open_raw_mpi(MPI_COMM_WORLD, in(folder, "blocks.npy"), 1, &(int64_t){128}, "u1", "r", NULL, &array) == 0,
        "opened as bytes");
  char start[128];
  check(swath_read(array, NULL, NULL, start, NULL) == 0 && memcmp(start + 1, "NUMPY", 5) == 0, "the bytes of a header");
  check(swath_close(array) == 0, "closed");
  free(mine);
  free(new);
  swath_distribution_free(cyclic);
  swath_distribution_free(blocks);
}

static void be_told_alike(const char *folder) {
  swath_array *array = NULL;
  check_error(swath_open_mpi(MPI_COMM_WORLD, in(folder, "none.nc"), NULL, "r", NULL, &array), SWATH_ERROR_STORE,
              "none.nc");
  check_error(swath_open_mpi(MPI_COMM_WORLD, in(folder, "blocks.npy"), NULL, rank == ranks - 1 ? "w" : "r", NULL, &array),
              SWATH_ERROR_ARGUMENT, "mode 'w'");
  check(swath_open_mpi(MPI_COMM_WORLD, in(folder, "szip.h5"), "v", "r", NULL, &array) == 0, "opened");
  swath_distribution *blocks = dealt(SWATH_BLOCK);
  int64_t count;
  int32_t *mine = memory_of(blocks, &count);
  check_error(swath_read(array, blocks, NULL, mine, NULL), SWATH_ERROR_UNSUPPORTED, "szip");
  check(swath_close(array) == 0, "closed");
  free(mine);
  swath_distribution_free(blocks);
}

/* All ranks together allocate missing chunks. */
static void write_alone(const char *folder) {
  swath_array *array;
  int32_t numbers[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; ++i) numbers[i] = i;
  check(swath_open_mpi(MPI_COMM_WORLD, in(folder, "absent.h5"), "n", "r+", NULL, &array) == 0, "opened");
  int kind = SWATH_OK;
  if (rank == ranks - 1) kind = swath_write(array, NULL, NULL, numbers, NULL);
  if (rank == ranks - 1 && ranks > 1) {
    check(kind == SWATH_ERROR_ARGUMENT && strstr(swath_error_message(), "by one rank alone") != NULL, "refused alone");
  }
  const int64_t begin[] = {0, 0}, end[] = {ROWS, COLUMNS};
  const void *const data[] = {numbers};
  check(swath_write_boxes(array, rank == ranks - 1, begin, end, data, NULL) == 0, "written with the others");
  check(swath_close(array) == 0, "closed");
}

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  redistribute_and_dump(arguments[1]);
  be_told_alike(arguments[1]);
  write_alone(arguments[1]);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
