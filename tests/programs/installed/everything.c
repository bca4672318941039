/* Files of all formats by the ranks of MPI: shares, selections with steps, records, attributes, boxes, redistribution,
 * explain, and an error of one rank that all ranks get. Run in an empty folder. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swath/swath_mpi.h>

enum { kRows = 11, kColumns = 7, kRecords = 3 };

static int rank, ranks;
static const int64_t shape[] = {kRows, kColumns};
static swath_distribution *cyclic, *blocks;
static double dealt[kRows * kColumns], expected[kRows * kColumns];

static void check(int is_right, const char* path, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s: not right: %s (%s)\n", rank, path, what, swath_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static swath_distribution* rows(int kind, int64_t block) {
  const swath_rule rules[] = {{kind, block}, {SWATH_WHOLE, 0}};
  const int grid[] = {ranks, 1};
  swath_distribution* made = NULL;
  check(swath_distribution_create(2, rules, grid, &made) == 0, "", "a distribution");
  return made;
}

/* Element (y, x) is 100 y + x. */
static void fill_in(int is_cyclic, double* values) {
  for (int y = 0; y < kRows; ++y) {
    if ((is_cyclic ? y / 2 % ranks : y / ((kRows + ranks - 1) / ranks)) != rank) continue;
    for (int x = 0; x < kColumns; ++x) *values++ = 100 * y + x;
  }
}

/* This rank's rows [first, last) in two boxes, from memory with gaps. */
static void write_boxes(const char* path, swath_array* array) {
  const int64_t first = rank * kRows / ranks, last = (rank + 1) * kRows / ranks;
  const int64_t begins[] = {first, 0, first, 3}, ends[] = {last, 3, last, kColumns};
  int16_t memory[kRows][2 * kColumns] = {{0}};
  for (int64_t y = first; y < last; ++y) {
    for (int x = 0; x < kColumns; ++x) memory[y][2 * x] = (int16_t)-(100 * y + x);
  }
  const int64_t gaps[] = {sizeof memory[0], 2 * sizeof(int16_t)};
  const int64_t* const strides[] = {gaps, gaps};
  const void* const data[] = {&memory[first][0], &memory[first][6]};
  check(swath_write_boxes(array, 2, begins, ends, data, strides) == 0, path, "boxes");
}

static void dump(const char* path) {
  swath_file* file;
  swath_array *a, *b, *r;
  const char *const names[] = {"y", "x"}, *const of_records[] = {"t", "x"};
  const int64_t chunks[] = {3, 2}, shards[] = {6, 4}, grows[] = {SWATH_UNLIMITED, kColumns};
  const int32_t range[] = {-9999, 0};
  swath_options options;
  swath_options_init(&options);
  if (strstr(path, "nc3") == NULL) options.chunks = chunks, options.codecs = "shuffle,zlib:4";
  if (strstr(path, "zarr") != NULL) options.shards = shards;
  check(swath_file_create_mpi(MPI_COMM_WORLD, path, NULL, &file) == 0, path, "created");
  check(swath_set_attribute(file, NULL, "title", "text", -1, "everything") == 0, path, "text");
  check(swath_define(file, "a", 2, shape, names, "f8", &options, &a) == 0, path, "a");
  check(swath_define(file, "b", 2, shape, names, "i2", NULL, &b) == 0, path, "b");
  check(swath_define(file, "r", 2, grows, of_records, "f4", NULL, &r) == 0, path, "r");
  check(swath_set_attribute(file, "b", "valid_range", "i4", 2, range) == 0, path, "numbers");
  check(swath_set_attribute(file, "b", "units", "text", -1, "K") == 0, path, "units");
  check(swath_write(a, cyclic, NULL, dealt, NULL) == 0, path, "written");
  write_boxes(path, b);
  swath_distribution* line;
  check(swath_distribution_create(1, &(swath_rule){SWATH_CYCLIC, 1}, &ranks, &line) == 0, path, "a line");
  for (int record = 0; record < kRecords; ++record) {
    float mine[kColumns], *next = mine;
    for (int x = rank; x < kColumns; x += ranks) *next++ = (float)(record + x / 8.0);
    check(swath_append(r, line, mine, NULL) == 0, path, "appended");
  }
  swath_distribution_free(line);
  check(swath_file_close(file) == 0, path, "closed");
}

static void dump_one(const char* path) {
  swath_array* array;
  check(swath_create_mpi(MPI_COMM_WORLD, path, NULL, 2, shape, "f8", NULL, &array) == 0, path, "created");
  check(swath_write(array, cyclic, NULL, dealt, NULL) == 0, path, "written");
  check(swath_close(array) == 0, path, "closed");
}

/* Every third row and column from the last on, into memory in the order of Fortran. */
static void read_steps(const char* path, swath_array* array) {
  const swath_slice slices[] = {{kRows - 1, SWATH_END, -3}, {kColumns - 1, SWATH_END, -3}};
  const int64_t selected[] = {4, 3}, strides[] = {sizeof(double), 4 * sizeof(double)};
  int64_t local[2];
  double values[3][4];
  check(swath_local_shape(blocks, 2, selected, rank, local) == 0, path, "a shape");
  check(swath_read(array, blocks, slices, values, strides) == 0, path, "read by steps");
  for (int y = 0; y < local[0]; ++y) {
    for (int x = 0; x < local[1]; ++x) {
      const int row = kRows - 1 - 3 * ((4 + ranks - 1) / ranks * rank + y);
      check(values[x][y] == 100 * row + kColumns - 1 - 3 * x, path, "an element of the steps");
    }
  }
}

static void hear_the_same_error(const char* path, swath_array* array) {
  const swath_slice beyond[] = {{0, 50, 1}, {0, SWATH_END, 1}};
  double values[kRows * kColumns];
  char mine[2000] = "", first[2000];
  const int kind = swath_read(array, blocks, rank == ranks - 1 ? beyond : NULL, values, NULL);
  snprintf(mine, sizeof mine, "%d %s", kind, swath_error_message());
  memcpy(first, mine, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  check(kind == SWATH_ERROR_ARGUMENT && strstr(mine, "0:50:1") != NULL, path, "the error");
  check(strcmp(mine, first) == 0, path, "the same error on all ranks");
}

static void look(const char* path) {
  swath_array* array;
  double values[kRows * kColumns];
  int64_t local[2];
  char* text;
  const int kind = strstr(path, ".raw") != NULL
                       ? swath_open_raw_mpi(MPI_COMM_WORLD, path, 2, shape, "f8", "r", NULL, &array)
                       : swath_open_mpi(MPI_COMM_WORLD, path, strstr(path, ".npy") ? NULL : "a", "r", NULL, &array);
  check(kind == 0, path, "opened");
  check(swath_local_shape(blocks, 2, shape, rank, local) == 0, path, "a shape");
  check(swath_read(array, blocks, NULL, values, NULL) == 0, path, "read");
  check(memcmp(values, expected, (size_t)(local[0] * local[1]) * sizeof *values) == 0, path, "blocks");
  read_steps(path, array);
  check(swath_explain(array, 0, blocks, NULL, &text) == 0 && strstr(text, "read") != NULL, path, "explained");
  swath_free(text);
  hear_the_same_error(path, array);
  check(swath_close(array) == 0, path, "closed");
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cyclic = rows(SWATH_CYCLIC, 2);
  blocks = rows(SWATH_BLOCK, 0);
  fill_in(1, dealt);
  fill_in(0, expected);
  double again[kRows * kColumns];
  int64_t local[2];
  check(swath_local_shape(blocks, 2, shape, rank, local) == 0, "", "a shape");
  check(swath_redistribute_mpi(MPI_COMM_WORLD, 2, shape, "f8", cyclic, dealt, blocks, again) == 0, "", "redistributed");
  check(memcmp(again, expected, (size_t)(local[0] * local[1]) * sizeof *again) == 0, "", "what was redistributed");
  static const char* const paths[] = {"c.raw", "c.npy", "c.nc3", "c.nc4", "c.h5", "c.zarr"};
  for (int i = 0; i < 6; ++i) {
    if (i < 2) dump_one(paths[i]);
    if (i >= 2) dump(paths[i]);
    look(paths[i]);
  }
  swath_distribution_free(cyclic);
  swath_distribution_free(blocks);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
