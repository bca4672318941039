/* One dump of a simulation: every rank has a block of every variable. Each contender is one program, which writes the
 * same variables with its library. */
#ifndef SWATH_BENCH_DUMP_H
#define SWATH_BENCH_DUMP_H

#include <stddef.h>
#include <stdint.h>

enum { kDimensionsMax = 3, kDeflateLevel = 1 };

typedef struct dump {
  const char *path, *format; /* of Swath's options; other libraries have one format */
  int variables, compresses, ndim, rank, ranks;
  int grid[kDimensionsMax];
  int64_t shape[kDimensionsMax], begin[kDimensionsMax], count[kDimensionsMax]; /* the whole, and this rank's block */
  int64_t elements;                                                            /* of the block */
  float** values;                                                              /* of each variable, packed */
} dump;

/* What the contender implements: creates the file, writes all variables, closes it. */
void write_dump(const dump* d);
/* Whether the closed file is on the medium; else the frame syncs it. */
extern const int kFileIsSynced;

/* Ends all ranks with a message if something went wrong. */
void must(int is_right, const char* what, const char* why);

/* "v0017": valid until the next call. */
const char* variable_name(int number);

#endif
