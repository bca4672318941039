#include "descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SWATH_FORTRAN_MPI
#include "swath/swath_mpi.h"
#endif

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* The section of the array that some data in memory belong to, and the strides in memory, in C order. */
typedef struct {
  int dimensions;
  int64_t begin[SWATH_DIMENSIONS_MAX];
  int64_t end[SWATH_DIMENSIONS_MAX];
  int64_t strides[SWATH_DIMENSIONS_MAX];
} Section;

enum { kMessageMax = 400 };

void swath_fortran_extents(const CFI_cdesc_t* data, int* rank, int64_t* extents) {
  *rank = data->rank;
  for (int d = 0; d < data->rank; ++d) extents[d] = data->dim[d].extent;
}

/* Removes the byte order: "<f4" and "f4" are the same type in memory. */
static const char* without_order(const char* dtype) { return strchr("<>=|", dtype[0]) != NULL ? dtype + 1 : dtype; }

static int fail(char* message, const char* name, const char* what) {
  snprintf(message, kMessageMax, "%s: %s", name, what);
  return -1;
}

static int check_type(const swath_array* array, const char* name, const char* dtype, char* message) {
  char stored[SWATH_DTYPE_MAX];
  swath_inquire(array, NULL, NULL, stored);
  if (strcmp(without_order(stored), without_order(dtype)) == 0) return 0;
  snprintf(message, kMessageMax, "%s: its elements are %s, those in memory %s; expected the same", name,
           without_order(stored), dtype);
  return -1;
}

/* Computes the section of data that begin at `start` in an array of that many dimensions; -1 and a message on
 * failure. */
static int place_of(const CFI_cdesc_t* data, int dimensions, int count, const int64_t* start, const char* name,
                    Section* place, char* message) {
  if (data->rank > dimensions) {
    snprintf(message, kMessageMax, "%s: it has %d dimensions, the data in memory %d; expected no more", name,
             dimensions, (int)data->rank);
    return -1;
  }
  if (start != NULL && count != dimensions) {
    snprintf(message, kMessageMax, "%s: start has %d indices; expected %d, one a dimension", name, count, dimensions);
    return -1;
  }
  place->dimensions = dimensions;
  for (int d = 0; d < dimensions; ++d) {
    const int c = dimensions - 1 - d;
    const int64_t extent = d < data->rank ? data->dim[d].extent : 1;
    if (extent < 0) return fail(message, name, "an assumed-size array has no last extent; give a section of it");
    place->begin[c] = start == NULL ? 0 : start[d] - 1;
    place->end[c] = place->begin[c] + extent;
    place->strides[c] = d < data->rank ? data->dim[d].sm : (int64_t)data->elem_len;
  }
  return 0;
}

static int dimensions_of(const swath_array* array) {
  int dimensions = 0;
  swath_inquire(array, &dimensions, NULL, NULL);
  return dimensions;
}

static const char* name_of(const swath_array* array) {
  const char* name = "";
  swath_array_name(array, &name);
  return name[0] == '\0' ? "the array" : name;
}

static int look(const swath_array* array, const CFI_cdesc_t* data, const char* dtype, int dimensions, int count,
                const int64_t* start, Section* place, char* message) {
  const char* name = name_of(array);
  if (check_type(array, name, dtype, message) != 0) return -1;
  return place_of(data, dimensions, count, start, name, place, message);
}

int swath_fortran_read(swath_array* array, const CFI_cdesc_t* data, const char* dtype, int count,
                       const int64_t* start) {
  Section place;
  char message[kMessageMax];
  if (look(array, data, dtype, dimensions_of(array), count, start, &place, message) != 0) {
    return swath_refuse(array, message);
  }
  void* const memory = data->base_addr;
  const int64_t* const strides = place.strides;
  return swath_read_boxes(array, 1, place.begin, place.end, &memory, &strides);
}

int swath_fortran_write(swath_array* array, const CFI_cdesc_t* data, const char* dtype, int count,
                        const int64_t* start) {
  Section place;
  char message[kMessageMax];
  if (look(array, data, dtype, dimensions_of(array), count, start, &place, message) != 0) {
    return swath_refuse(array, message);
  }
  const void* const memory = data->base_addr;
  const int64_t* const strides = place.strides;
  return swath_write_boxes(array, 1, place.begin, place.end, &memory, &strides);
}

int swath_fortran_append(swath_array* array, const CFI_cdesc_t* data, const char* dtype, int count,
                         const int64_t* start) {
  Section place;
  char message[kMessageMax];
  const int dimensions = dimensions_of(array);
  if (look(array, data, dtype, dimensions > 0 ? dimensions - 1 : 0, count, start, &place, message) != 0) {
    return swath_refuse(array, message);
  }
  const void* const memory = data->base_addr;
  const int64_t* const strides = place.strides;
  return swath_append_boxes(array, 1, place.begin, place.end, &memory, &strides);
}

/* ---- Boxes that are stacked along the last dimension of the data --------------------------------------------------
 */

typedef struct {
  int count;
  int64_t* begins; /* [count][dimensions of the array] */
  int64_t* ends;
  void** memory;
  const int64_t** strides; /* the same for all boxes */
  int64_t box_strides[SWATH_DIMENSIONS_MAX];
} Boxes;

static void free_boxes(Boxes* boxes) {
  free(boxes->begins);
  free(boxes->memory);
  free(boxes->strides);
}

/* Checks that the tables have a row for each box, and that the boxes fit into the data. */
static int check_tables(const CFI_cdesc_t* data, int dimensions, swath_fortran_table start, swath_fortran_table shape,
                        const char* name, char* message) {
  const int of_box = data->rank - 1;
  if (of_box < 0 || of_box > dimensions) {
    snprintf(message, kMessageMax,
             "%s: boxes in memory have %d dimensions beside the one that numbers them; expected 0 "
             "to %d",
             name, of_box, dimensions);
  } else if (start.rows > 0 && start.columns != dimensions) {
    snprintf(message, kMessageMax, "%s: start has %d integers for each box; expected %d, one a dimension", name,
             start.columns, dimensions);
  } else if (start.rows > data->dim[of_box].extent) {
    snprintf(message, kMessageMax,
             "%s: start has %d boxes, the last dimension of the data in memory %lld; expected no "
             "more",
             name, start.rows, (long long)data->dim[of_box].extent);
  } else if ((shape.columns != 0 || shape.rows != 0) && (shape.columns != of_box || shape.rows != start.rows)) {
    snprintf(message, kMessageMax, "%s: shape is %d x %d; expected %d x %d, the extents of each box in memory", name,
             shape.columns, shape.rows, of_box, start.rows);
  } else {
    return 0;
  }
  return -1;
}

static int place_box(const CFI_cdesc_t* data, int dimensions, const int64_t* start, const int64_t* shape, int box,
                     const char* name, Boxes* boxes, char* message) {
  for (int d = 0; d < dimensions; ++d) {
    const ptrdiff_t c = (ptrdiff_t)box * dimensions + dimensions - 1 - d;
    const int is_in_memory = d < data->rank - 1;
    const int64_t room = is_in_memory ? data->dim[d].extent : 1;
    const int64_t extent = is_in_memory && shape != NULL ? shape[d] : room;
    if (extent < 0 || extent > room) {
      snprintf(message, kMessageMax,
               "%s: box %d has extent %lld in dimension %d; expected 0 to %lld, for which the data "
               "in memory have room",
               name, box + 1, (long long)extent, d + 1, (long long)room);
      return -1;
    }
    boxes->begins[c] = start[d] - 1;
    boxes->ends[c] = boxes->begins[c] + extent;
  }
  boxes->memory[box] = (char*)data->base_addr + box * data->dim[data->rank - 1].sm;
  boxes->strides[box] = boxes->box_strides;
  return 0;
}

static int look_at_boxes(const swath_array* array, const CFI_cdesc_t* data, const char* dtype,
                         swath_fortran_table start, swath_fortran_table shape, Boxes* boxes, char* message) {
  const int dimensions = dimensions_of(array);
  const char* name = name_of(array);
  memset(boxes, 0, sizeof *boxes);
  if (check_type(array, name, dtype, message) != 0) return -1;
  if (check_tables(data, dimensions, start, shape, name, message) != 0) return -1;
  const size_t numbers = (size_t)start.rows * (size_t)dimensions + 1;
  boxes->count = start.rows;
  boxes->begins = malloc(2 * numbers * sizeof *boxes->begins);
  boxes->memory = malloc(((size_t)start.rows + 1) * sizeof *boxes->memory);
  boxes->strides = malloc(((size_t)start.rows + 1) * sizeof *boxes->strides);
  if (boxes->begins == NULL || boxes->memory == NULL || boxes->strides == NULL) {
    return fail(message, name, "no memory for the list of boxes");
  }
  boxes->ends = boxes->begins + numbers;
  for (int d = 0; d < dimensions; ++d) {
    boxes->box_strides[dimensions - 1 - d] = d < data->rank - 1 ? data->dim[d].sm : (int64_t)data->elem_len;
  }
  for (int b = 0; b < start.rows; ++b) {
    const int64_t* extents = shape.values == NULL ? NULL : shape.values + (ptrdiff_t)b * shape.columns;
    if (place_box(data, dimensions, start.values + (ptrdiff_t)b * dimensions, extents, b, name, boxes, message) != 0) {
      return -1;
    }
  }
  return 0;
}

int swath_fortran_read_boxes(swath_array* array, const CFI_cdesc_t* data, const char* dtype, swath_fortran_table start,
                             swath_fortran_table shape) {
  Boxes boxes;
  char message[kMessageMax];
  const int status = look_at_boxes(array, data, dtype, start, shape, &boxes, message) != 0
                         ? swath_refuse(array, message)
                         : swath_read_boxes(array, boxes.count, boxes.begins, boxes.ends, boxes.memory, boxes.strides);
  free_boxes(&boxes);
  return status;
}

int swath_fortran_write_boxes(swath_array* array, const CFI_cdesc_t* data, const char* dtype, swath_fortran_table start,
                              swath_fortran_table shape) {
  Boxes boxes;
  char message[kMessageMax];
  const int status = look_at_boxes(array, data, dtype, start, shape, &boxes, message) != 0
                         ? swath_refuse(array, message)
                         : swath_write_boxes(array, boxes.count, boxes.begins, boxes.ends,
                                             (const void* const*)boxes.memory, boxes.strides);
  free_boxes(&boxes);
  return status;
}

/* ---- Shares of distributions ------------------------------------------------------------------------------------- */

typedef struct {
  swath_slice slices[SWATH_DIMENSIONS_MAX];
  int64_t extents[SWATH_DIMENSIONS_MAX]; /* shape of the selection of all ranks together */
  int64_t strides[SWATH_DIMENSIONS_MAX];
} Share;

static int64_t selected(int64_t first, int64_t last, int64_t step) {
  if (step == 0) return -1;
  const int64_t steps = (last - first) / step;
  return (last - first) * (step > 0 ? 1 : -1) < 0 ? 0 : steps + 1;
}

static int share_of(const swath_array* array, const CFI_cdesc_t* data, const char* dtype, int count,
                    const int64_t* first, const int64_t* last, const int64_t* step, Share* share, char* message) {
  Section place;
  const int dimensions = dimensions_of(array);
  const int64_t* const given = first != NULL ? first : last != NULL ? last : step;
  if (look(array, data, dtype, dimensions, count, given, &place, message) != 0) return -1;
  if (data->rank != dimensions) return fail(message, name_of(array), "a share has as many dimensions as the array");
  int64_t shape[SWATH_DIMENSIONS_MAX];
  swath_inquire(array, NULL, shape, NULL);
  for (int d = 0; d < dimensions; ++d) {
    const int c = dimensions - 1 - d;
    const int64_t by = step == NULL ? 1 : step[d];
    const int64_t from = first != NULL ? first[d] : by > 0 ? 1 : shape[c];
    const int64_t to = last != NULL ? last[d] : by > 0 ? shape[c] : 1;
    if (by == 0) return fail(message, name_of(array), "step 0; expected another number");
    if (selected(from, to, by) > 0 && (from < 1 || from > shape[c] || to < 1 || to > shape[c])) {
      snprintf(message, kMessageMax, "%s: %lld to %lld of dimension %d; expected indices from 1 to %lld",
               name_of(array), (long long)from, (long long)to, d + 1, (long long)shape[c]);
      return -1;
    }
    /* With a negative step, SWATH_END is the stop that includes the first element. */
    share->slices[c].start = from - 1;
    share->slices[c].stop = selected(from, to, by) == 0 ? from - 1 : by > 0 ? to : to == 1 ? SWATH_END : to - 2;
    share->slices[c].step = by;
    share->extents[c] = selected(from, to, by);
    share->strides[c] = place.strides[c];
  }
  return 0;
}

/* Checks that the data have the extents of this rank's share; other ranks cannot check it. */
static int check_extents(const swath_array* array, const CFI_cdesc_t* data, const swath_distribution* whose,
                         int dimensions, const Share* share, char* message) {
  int rank = 0;
  int64_t shape[SWATH_DIMENSIONS_MAX];
  int64_t extents[SWATH_DIMENSIONS_MAX];
  memcpy(extents, share->extents, sizeof extents);
  swath_ranks(array, &rank, NULL);
  memcpy(shape, share->extents, sizeof shape);
  if (whose != NULL && swath_local_shape(whose, dimensions, shape, rank, extents) != 0) {
    return fail(message, name_of(array), swath_error_message());
  }
  for (int d = 0; d < dimensions; ++d) {
    const int64_t expected = extents[dimensions - 1 - d];
    if (data->dim[d].extent == expected) continue;
    snprintf(message, kMessageMax, "%s: dimension %d of the data in memory has extent %lld; expected %lld",
             name_of(array), d + 1, (long long)data->dim[d].extent, (long long)expected);
    return -1;
  }
  return 0;
}

static int look_at_share(const swath_array* array, const CFI_cdesc_t* data, const char* dtype,
                         const swath_distribution* whose, int count, const int64_t* first, const int64_t* last,
                         const int64_t* step, Share* share, char* message) {
  if (share_of(array, data, dtype, count, first, last, step, share, message) != 0) return -1;
  return check_extents(array, data, whose, dimensions_of(array), share, message);
}

int swath_fortran_read_share(swath_array* array, const CFI_cdesc_t* data, const char* dtype,
                             const swath_distribution* whose, int count, const int64_t* first, const int64_t* last,
                             const int64_t* step) {
  Share share;
  char message[kMessageMax];
  if (look_at_share(array, data, dtype, whose, count, first, last, step, &share, message) != 0) {
    return swath_refuse(array, message);
  }
  return swath_read(array, whose, share.slices, data->base_addr, share.strides);
}

int swath_fortran_write_share(swath_array* array, const CFI_cdesc_t* data, const char* dtype,
                              const swath_distribution* whose, int count, const int64_t* first, const int64_t* last,
                              const int64_t* step) {
  Share share;
  char message[kMessageMax];
  if (look_at_share(array, data, dtype, whose, count, first, last, step, &share, message) != 0) {
    return swath_refuse(array, message);
  }
  return swath_write(array, whose, share.slices, data->base_addr, share.strides);
}

/* ---- Memory to memory -------------------------------------------------------------------------------------------- */

#ifdef SWATH_FORTRAN_MPI
static size_t bytes_of(const CFI_cdesc_t* data) {
  size_t bytes = data->elem_len;
  for (int d = 0; d < data->rank; ++d) bytes *= (size_t)(data->dim[d].extent > 0 ? data->dim[d].extent : 0);
  return bytes;
}

/* The number of leading dimensions of a section that are contiguous in memory. */
static int dimensions_together(const CFI_cdesc_t* data) {
  CFI_index_t bytes = (CFI_index_t)data->elem_len;
  int d = 0;
  for (; d < data->rank && data->dim[d].sm == bytes; ++d) bytes *= data->dim[d].extent;
  return d;
}

/* Copies between a section and packed memory; `to_section`: into the section. The dimensions below `together` are
 * contiguous, with `run` bytes. */
static void copy_section(const CFI_cdesc_t* data, int together, size_t run, int dimension, char* section, char** packed,
                         int to_section) {
  if (dimension < together) {
    memcpy(to_section ? section : *packed, to_section ? *packed : section, run);
    *packed += run;
    return;
  }
  for (CFI_index_t i = 0; i < data->dim[dimension].extent; ++i) {
    copy_section(data, together, run, dimension - 1, section + i * data->dim[dimension].sm, packed, to_section);
  }
}

static void copy_all(const CFI_cdesc_t* data, char* packed, int to_section) {
  if (bytes_of(data) == 0) return;
  const int together = dimensions_together(data);
  size_t run = data->elem_len;
  for (int d = 0; d < together; ++d) run *= (size_t)data->dim[d].extent;
  copy_section(data, together, run, data->rank - 1, data->base_addr, &packed, to_section);
}

/* True if data in memory have the extents of a rank's share. */
static int has_extents(const CFI_cdesc_t* data, const swath_distribution* whose, int ndim, const int64_t* shape,
                       int rank) {
  int64_t extents[SWATH_DIMENSIONS_MAX];
  if (data->rank != ndim || swath_local_shape(whose, ndim, shape, rank, extents) != 0) return 0;
  for (int d = 0; d < ndim; ++d) {
    if (data->dim[d].extent != extents[ndim - 1 - d]) return 0;
  }
  return 1;
}

int swath_fortran_redistribute(int comm, int ndim, const int64_t* shape, const char* dtype,
                               const swath_distribution* from, const CFI_cdesc_t* source, const swath_distribution* to,
                               const CFI_cdesc_t* target) {
  const MPI_Comm ranks = MPI_Comm_f2c((MPI_Fint)comm);
  int rank = 0;
  MPI_Comm_rank(ranks, &rank);
  int fits = has_extents(source, from, ndim, shape, rank) && has_extents(target, to, ndim, shape, rank);
  MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, ranks);
  if (!fits) {
    return swath_fail(
        SWATH_ERROR_ARGUMENT,
        "swath_redistribute: on a rank, source or target has other extents than its share; expected those "
        "that local_shape() tells of global and of the rank");
  }
  char* const given = malloc(bytes_of(source) + 1);
  char* const got = malloc(bytes_of(target) + 1);
  int has_memory = given != NULL && got != NULL;
  MPI_Allreduce(MPI_IN_PLACE, &has_memory, 1, MPI_INT, MPI_MIN, ranks);
  int status = 0;
  if (has_memory) {
    copy_all(source, given, 0);
    status = swath_redistribute_mpi(ranks, ndim, shape, dtype, from, given, to, got);
    if (status == 0) copy_all(target, got, 1);
  } else {
    status = swath_fail(SWATH_ERROR_STORE,
                        "swath_redistribute: on a rank there is no memory for a packed copy of source and target; use "
                        "more ranks, or smaller arrays");
  }
  free(given);
  free(got);
  return status;
}
#else
int swath_fortran_redistribute(int comm, int ndim, const int64_t* shape, const char* dtype,
                               const swath_distribution* from, const CFI_cdesc_t* source, const swath_distribution* to,
                               const CFI_cdesc_t* target) {
  (void)comm, (void)ndim, (void)shape, (void)dtype, (void)from, (void)source, (void)to, (void)target;
  return swath_fail(SWATH_ERROR_UNSUPPORTED, "swath_redistribute: this Swath was built without MPI; build it with MPI");
}
#endif

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

static int64_t count_of(const CFI_cdesc_t* data) { return data->rank == 0 ? 1 : data->dim[0].extent; }
static int64_t step_of(const CFI_cdesc_t* data) { return data->rank == 0 ? (int64_t)data->elem_len : data->dim[0].sm; }

int swath_fortran_set_attribute(swath_file* file, const char* holder, const char* name, const char* dtype,
                                const CFI_cdesc_t* data) {
  const int64_t count = count_of(data);
  char* const values = malloc(count > 0 ? (size_t)count * data->elem_len : 1);
  if (values == NULL) return SWATH_ERROR_STORE;
  for (int64_t i = 0; i < count; ++i) {
    memcpy(values + (size_t)i * data->elem_len, (const char*)data->base_addr + i * step_of(data), data->elem_len);
  }
  const int status = swath_set_attribute(file, holder, name, dtype, count, values);
  free(values);
  return status;
}

int swath_fortran_get_attribute(swath_file* file, const char* holder, const char* name, const char* dtype,
                                const CFI_cdesc_t* data, int64_t* count) {
  char stored[SWATH_DTYPE_MAX];
  void* values = NULL;
  const int status = swath_get_attribute(file, holder, name, stored, count, &values);
  if (status != 0) return status;
  int result = 0;
  char message[kMessageMax];
  if (strcmp(without_order(stored), dtype) != 0) {
    snprintf(message, sizeof message, "attribute %s: it is %s, the variable that is to get it %s; expected the same",
             name, without_order(stored), dtype);
    result = swath_fail(SWATH_ERROR_ARGUMENT, message);
  } else if (*count > count_of(data)) {
    snprintf(message, sizeof message, "attribute %s: it has %lld values; expected room for them, not for %lld", name,
             (long long)*count, (long long)count_of(data));
    result = swath_fail(SWATH_ERROR_ARGUMENT, message);
  } else {
    for (int64_t i = 0; i < *count; ++i) {
      memcpy((char*)data->base_addr + i * step_of(data), (const char*)values + (size_t)i * data->elem_len,
             data->elem_len);
    }
  }
  swath_free(values);
  return result;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Calls the function for the ranks of MPI, or, without a communicator, the one for a single process. */
#ifdef SWATH_FORTRAN_MPI
#define WITH_RANKS(with_mpi, alone)   \
  if (has_comm != 0) return with_mpi; \
  return alone
#else
#define WITH_RANKS(with_mpi, alone)                                                                     \
  if (has_comm != 0)                                                                                    \
    return swath_fail(SWATH_ERROR_UNSUPPORTED,                                                          \
                      "comm: this Swath was built without MPI; leave it out, or build Swath with MPI"); \
  (void)comm;                                                                                           \
  return alone
#endif
#define COMM MPI_Comm_f2c((MPI_Fint)comm)

/* An empty name: the only array of the file. */
static const char* or_null(const char* variable) { return variable[0] == '\0' ? NULL : variable; }

int swath_fortran_file_open(int has_comm, int comm, const char* path, const char* mode, const swath_options* options,
                            swath_file** file) {
  WITH_RANKS(swath_file_open_mpi(COMM, path, mode, options, file), swath_file_open(path, mode, options, file));
}

int swath_fortran_file_create(int has_comm, int comm, const char* path, const swath_options* options,
                              swath_file** file) {
  WITH_RANKS(swath_file_create_mpi(COMM, path, options, file), swath_file_create(path, options, file));
}

int swath_fortran_open(int has_comm, int comm, const char* path, const char* variable, const char* mode,
                       const swath_options* options, swath_array** array) {
  WITH_RANKS(swath_open_mpi(COMM, path, or_null(variable), mode, options, array),
             swath_open(path, or_null(variable), mode, options, array));
}

int swath_fortran_open_raw(int has_comm, int comm, const char* path, int ndim, const int64_t* shape, const char* dtype,
                           const char* mode, const swath_options* options, swath_array** array) {
  WITH_RANKS(swath_open_raw_mpi(COMM, path, ndim, shape, dtype, mode, options, array),
             swath_open_raw(path, ndim, shape, dtype, mode, options, array));
}

int swath_fortran_create(int has_comm, int comm, const char* path, const char* variable, int ndim, const int64_t* shape,
                         const char* dtype, const swath_options* options, swath_array** array) {
  WITH_RANKS(swath_create_mpi(COMM, path, or_null(variable), ndim, shape, dtype, options, array),
             swath_create(path, or_null(variable), ndim, shape, dtype, options, array));
}
