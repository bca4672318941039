/* The libraries that write FLASH-IO's file of variables: Swath, MPI-IO, parallel HDF5. All functions are collective. */
#ifndef SWATH_FLASH_WAYS_H
#define SWATH_FLASH_WAYS_H

#include "../common/program.h"

enum { kDimensionsMax = 4, kVariablesMax = 40 };

/* An array in the file, in C order; its first dimension counts the blocks of all ranks. */
typedef struct {
  char name[24];
  char dtype[4]; /* "f8", "f4", "i4" */
  int ndim;
  int64_t shape[kDimensionsMax];
} variable;

typedef struct {
  int count;
  variable of[kVariablesMax];
} variables;

/* This rank's blocks of a variable, in memory with any strides. */
typedef struct {
  int64_t first; /* of the blocks of all ranks */
  int64_t count;
  void* data;
  int64_t strides[kDimensionsMax]; /* bytes */
} blocks;

typedef struct {
  const char* name;
  const char* suffix; /* of its files; NULL: the user's */
  void* (*create)(const char* path, const variables* contents, const char* codecs);
  void* (*open)(const char* path, const variables* contents);
  void (*write)(void* file, const variables* contents, int number, const blocks* mine);
  void (*read)(void* file, const variables* contents, int number, const blocks* mine);
  void (*close)(void* file); /* what was written is on the medium */
} way;

extern const way by_swath, by_mpi, by_mpi_each_block;
#ifdef FLASH_HDF5
extern const way by_hdf5;
#endif

static inline int64_t bytes_of_element(const variable* v) { return v->dtype[1] - '0'; }

#endif
