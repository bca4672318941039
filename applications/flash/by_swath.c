/* By Swath: a file of any format for many arrays, compressed or not. A rank's blocks are one box. */
#include <swath/swath_mpi.h>

#include "ways.h"

/* Errors are the same on all ranks: rank 0 prints them. */
static void must(int kind) {
  if (kind != SWATH_OK) fail(swath_error_message(), "flash");
}

static void define(swath_file* file, const variable* v, const char* codecs) {
  const char* const names[] = {"blocks", NULL, NULL, NULL};
  swath_options options;
  swath_array* array;
  swath_options_init(&options);
  options.codecs = codecs[0] == '\0' ? NULL : codecs;
  char of_axes[kDimensionsMax][32];
  const char* dimensions[kDimensionsMax] = {names[0]};
  for (int d = 1; d < v->ndim; ++d) {
    snprintf(of_axes[d], sizeof of_axes[d], "n%d_%lld", d, (long long)v->shape[d]);
    dimensions[d] = of_axes[d];
  }
  must(swath_define(file, v->name, v->ndim, v->shape, dimensions, v->dtype, &options, &array));
}

static void* create(const char* path, const variables* contents, const char* codecs) {
  swath_options options;
  swath_file* file;
  swath_options_init(&options);
  options.overwrite = 1;
  must(swath_file_create_mpi(MPI_COMM_WORLD, path, &options, &file));
  for (int i = 0; i < contents->count; ++i) define(file, &contents->of[i], codecs);
  return file;
}

static void* open_file(const char* path, const variables* contents) {
  swath_file* file;
  (void)contents;
  must(swath_file_open_mpi(MPI_COMM_WORLD, path, "r", NULL, &file));
  return file;
}

static swath_array* box_of(void* file, const variable* v, const blocks* mine, int64_t* begin, int64_t* end) {
  swath_array* array;
  must(swath_variable(file, v->name, &array));
  for (int d = 0; d < v->ndim; ++d) {
    begin[d] = d == 0 ? mine->first : 0;
    end[d] = d == 0 ? mine->first + mine->count : v->shape[d];
  }
  return array;
}

static void write_blocks(void* file, const variables* contents, int number, const blocks* mine) {
  int64_t begin[kDimensionsMax], end[kDimensionsMax];
  swath_array* array = box_of(file, &contents->of[number], mine, begin, end);
  const void* const data = mine->data;
  const int64_t* const strides = mine->strides;
  must(swath_write_boxes(array, 1, begin, end, &data, &strides));
}

static void read_blocks(void* file, const variables* contents, int number, const blocks* mine) {
  int64_t begin[kDimensionsMax], end[kDimensionsMax];
  swath_array* array = box_of(file, &contents->of[number], mine, begin, end);
  void* const data = mine->data;
  const int64_t* const strides = mine->strides;
  must(swath_read_boxes(array, 1, begin, end, &data, &strides));
}

static void close_file(void* file) { must(swath_file_close(file)); }

const way by_swath = {"swath", NULL, create, open_file, write_blocks, read_blocks, close_file};
