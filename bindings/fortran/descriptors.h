/* Functions that the Fortran module calls in addition to swath.h. They take arrays as descriptors, and communicators as
 * integers. */
#ifndef SWATH_FORTRAN_DESCRIPTORS_H
#define SWATH_FORTRAN_DESCRIPTORS_H

#include <ISO_Fortran_binding.h>
#include <stdint.h>

#include "swath/swath.h"

/* Indices and extents are in Fortran order, and indices begin at 1; `start` NULL: 1 in every dimension. If data have
 * fewer dimensions than the array, the missing last ones have length 1. All functions are COLLECTIVE. */
int swath_fortran_read(swath_array* array, const CFI_cdesc_t* data, const char* dtype, int count, const int64_t* start);
int swath_fortran_write(swath_array* array, const CFI_cdesc_t* data, const char* dtype, int count,
                        const int64_t* start);
/* Appends a record. `start` has one index less than the array has dimensions. */
int swath_fortran_append(swath_array* array, const CFI_cdesc_t* data, const char* dtype, int count,
                         const int64_t* start);
/* A row of `columns` integers for each box; `values` NULL: no argument was given, or there are no boxes. */
typedef struct {
  int columns;
  int rows;
  const int64_t* values;
} swath_fortran_table;
/* The boxes are stacked along the last dimension of the data: row b of `start` and of `shape` belongs to box b. */
int swath_fortran_read_boxes(swath_array* array, const CFI_cdesc_t* data, const char* dtype, swath_fortran_table start,
                             swath_fortran_table shape);
int swath_fortran_write_boxes(swath_array* array, const CFI_cdesc_t* data, const char* dtype, swath_fortran_table start,
                              swath_fortran_table shape);
/* Transfers this rank's share of a selection: first, last and step of each dimension; NULL: the whole array. */
int swath_fortran_read_share(swath_array* array, const CFI_cdesc_t* data, const char* dtype,
                             const swath_distribution* whose, int count, const int64_t* first, const int64_t* last,
                             const int64_t* step);
int swath_fortran_write_share(swath_array* array, const CFI_cdesc_t* data, const char* dtype,
                              const swath_distribution* whose, int count, const int64_t* first, const int64_t* last,
                              const int64_t* step);

/* The number of dimensions of an array, and its extents. */
void swath_fortran_extents(const CFI_cdesc_t* data, int* rank, int64_t* extents);

/* COLLECTIVE over the communicator. Shares need not be contiguous. */
int swath_fortran_redistribute(int comm, int ndim, const int64_t* shape, const char* dtype,
                               const swath_distribution* from, const CFI_cdesc_t* source, const swath_distribution* to,
                               const CFI_cdesc_t* target);

/* Attributes with numbers: `data` is a scalar or has one dimension. */
int swath_fortran_set_attribute(swath_file* file, const char* holder, const char* name, const char* dtype,
                                const CFI_cdesc_t* data);
int swath_fortran_get_attribute(swath_file* file, const char* holder, const char* name, const char* dtype,
                                const CFI_cdesc_t* data, int64_t* count);

/* `has_comm` 0: for this process alone. */
int swath_fortran_file_open(int has_comm, int comm, const char* path, const char* mode, const swath_options* options,
                            swath_file** file);
int swath_fortran_file_create(int has_comm, int comm, const char* path, const swath_options* options,
                              swath_file** file);
int swath_fortran_open(int has_comm, int comm, const char* path, const char* variable, const char* mode,
                       const swath_options* options, swath_array** array);
int swath_fortran_open_raw(int has_comm, int comm, const char* path, int ndim, const int64_t* shape, const char* dtype,
                           const char* mode, const swath_options* options, swath_array** array);
int swath_fortran_create(int has_comm, int comm, const char* path, const char* variable, int ndim, const int64_t* shape,
                         const char* dtype, const swath_options* options, swath_array** array);

#endif
