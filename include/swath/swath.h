/* Swath from C: arrays in files of many formats, read and written by all ranks together. The ranks of MPI: swath_mpi.h.
 *
 *   swath_array *t;
 *   swath_open("ocean.nc", "temperature", "r", NULL, &t);
 *   swath_read(t, NULL, NULL, values, NULL);
 *   swath_close(t);
 *
 * Every function that returns an int returns 0, or the kind of its error; swath_error_message() then says what was
 * wrong. What it gives by pointers is then NULL, or as it was. Errors of collective functions are alike on all ranks.
 *
 * COLLECTIVE functions are called by all ranks that opened the file, in the same order, with the same arguments but for
 * memory, strides and boxes. Of a file that was opened without MPI there is one rank, 0.
 *
 * Elements in memory are in this machine's byte order, whatever the file has. Functions may be called by any number of
 * threads, collective ones by one thread at a time.
 *
 * Structures that a program fills in begin with their size: a library that is newer than the program knows what the
 * program has. No function ever changes its meaning.
 */
#ifndef SWATH_SWATH_H
#define SWATH_SWATH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct swath_file swath_file;                 /* an open file */
typedef struct swath_array swath_array;               /* an array in it */
typedef struct swath_distribution swath_distribution; /* which rank has which elements */
typedef struct swath_request swath_request;           /* a read or write that goes on in the background */

#define SWATH_DIMENSIONS_MAX 32
#define SWATH_DTYPE_MAX 128

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

#define SWATH_OK 0
#define SWATH_ERROR_ARGUMENT 1     /* something impossible was asked for; nothing was touched */
#define SWATH_ERROR_STORE 2        /* the system refused, or cut a transfer short: swath_error_errno() */
#define SWATH_ERROR_FORMAT 3       /* what a file says of itself cannot be true */
#define SWATH_ERROR_DISAGREEMENT 4 /* ranks asked for different things */
#define SWATH_ERROR_UNSUPPORTED 5  /* a right request that this build, or this file, cannot carry out */
#define SWATH_ERROR_INTERNAL 6     /* a bug in Swath */
#define SWATH_ERROR_INTERRUPTED 7  /* it was told to stop: what was written is partly old, partly new */

/* Of this thread's last failure; "", 0 and 0 where there was none. The text is there until the next failure. */
const char* swath_error_message(void);
int swath_error_kind(void);
int swath_error_errno(void);

const char* swath_version(void); /* of the library: "0.1.0" */

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* NULL, or 0, where nothing else is said: what Swath finds best. */
typedef struct swath_options {
  size_t size;        /* of this structure, as the program knows it: swath_options_init() */
  const char* format; /* of a new file: "netcdf4", "netcdf-classic:cdf5", "hdf5", "zarr", "npy", "raw"; by the suffix */
  const char* order;  /* of a new or raw array: "C", "F", or dimensions from slowest to fastest: "2,0,1" */
  const char* engine; /* what moves the bytes: "posix", "uring" */
  const char* method; /* how an array is read and written: "auto", "direct", "sieve", "list", "two-phase" */
  const char* streams;   /* of this node that a target serves at a time: "auto", "none", "4", "read=4,write=auto" */
  const char* codecs;    /* of a new array, in the order of encoding: "shuffle,zlib:4"; "": none */
  const int64_t* chunks; /* of a new array: elements of a chunk along each dimension */
  const int64_t* shards; /* of a new Zarr array: elements of a file of whole chunks along each dimension */
  const void* fill;      /* of a new array: one element, what those are that nobody writes */
  const char* const* dimensions; /* of swath_create(): a name for each dimension */
  int64_t offset;                /* of a raw file that is opened: bytes before its first element */
  int overwrite;                 /* a new file may take the name of an existing one; 0 */
  int atomic;                    /* a new file has another name until it is complete; 1 */
} swath_options;

/* Always before a program fills in what it wants. */
#define swath_options_init(options) swath_options_init_sized((options), sizeof(swath_options))
void swath_options_init_sized(swath_options* options, size_t size);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Opens a file. `mode`: "r", or "r+" to write in place, to define, to append and to set attributes. */
int swath_file_open(const char* path, const char* mode, const swath_options* options, swath_file** file);
/* A new file. It gets its name when it is closed; where something in it grows, at the first sync. */
int swath_file_create(const char* path, const swath_options* options, swath_file** file);
/* COLLECTIVE. When it returns, what was written is on the medium, and changes stay. */
int swath_file_sync(swath_file* file);
/* COLLECTIVE. Completes the file. The handle, and those of its arrays, are gone, also where it fails. */
int swath_file_close(swath_file* file);
/* COLLECTIVE. The same without completing it: a new file is removed, what was added since the last sync is taken back.
 */
int swath_file_discard(swath_file* file);

/* COLLECTIVE. A new array: `shape` has SWATH_UNLIMITED where it grows, by swath_append(); `dimensions` names them,
 * NULL: no names. `dtype`: as NumPy writes it, "f4", "<i8", "S5"; without a byte order, this machine's. The array
 * belongs to the file: it is there until the file is closed. */
int swath_define(swath_file* file, const char* variable, int ndim, const int64_t* shape, const char* const* dimensions,
                 const char* dtype, const swath_options* options, swath_array** array);
#define SWATH_UNLIMITED ((int64_t)-1)
/* COLLECTIVE the first time for each name. An array of the file: "t", "ocean/t"; NULL: the only one that can be meant.
 * It belongs to the file. */
int swath_variable(swath_file* file, const char* name, swath_array** array);

/* What a file holds; names are paths: "ocean/t". Texts stay until the file is changed or closed. */
int swath_variable_count(const swath_file* file, int64_t* count);
int swath_variable_name(const swath_file* file, int64_t number, const char** name);
int swath_group_count(const swath_file* file, int64_t* count); /* the file itself, "", is the first */
int swath_group_name(const swath_file* file, int64_t number, const char** name);

/* Attributes of the file (`holder` NULL or ""), of a group, or of a variable. Types are those of numbers ("f8", "i4"),
 * or "text": one text in UTF-8, `values` is a char *, `count` its bytes, -1: up to its NUL. */
/* COLLECTIVE. Adds or replaces one; `values` NULL removes it. */
int swath_set_attribute(swath_file* file, const char* holder, const char* name, const char* dtype, int64_t count,
                        const void* values);
/* `values`: memory to be freed by swath_free(), NULL where nobody asks. Text has a NUL behind it that is not counted;
 * "texts" are several, each with its NUL, `count` says how many; other values that only Zarr has are "json". */
int swath_get_attribute(const swath_file* file, const char* holder, const char* name,
                        char* dtype /* [SWATH_DTYPE_MAX] */, int64_t* count, void** values);
int swath_attribute_count(const swath_file* file, const char* holder, int64_t* count);
int swath_attribute_name(const swath_file* file, const char* holder, int64_t number, const char** name);

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* Opens an array together with its file; `variable` NULL: the only one that can be meant. */
int swath_open(const char* path, const char* variable, const char* mode, const swath_options* options,
               swath_array** array);
/* The same of a file that does not say what it holds. */
int swath_open_raw(const char* path, int ndim, const int64_t* shape, const char* dtype, const char* mode,
                   const swath_options* options, swath_array** array);
/* A new file with one array; `variable` NULL: "data", or none in a file of one array. */
int swath_create(const char* path, const char* variable, int ndim, const int64_t* shape, const char* dtype,
                 const swath_options* options, swath_array** array);
/* COLLECTIVE. The file of an array, and what they hold: see the functions of files. */
int swath_sync(swath_array* array);
int swath_close(swath_array* array);   /* of one that belongs to a file: does nothing, the file has it */
int swath_discard(swath_array* array); /* of one that belongs to a file: an error */
/* The file of an array, for attributes and names; it is closed with the array. */
swath_file* swath_file_of(swath_array* array);

/* Each may be NULL. `shape`: [SWATH_DIMENSIONS_MAX]; `dtype`: [SWATH_DTYPE_MAX], as NumPy writes it, of elements in
 * memory: "<f4". */
int swath_inquire(const swath_array* array, int* ndim, int64_t* shape, char* dtype);
/* Its path in the file; the name of a dimension, "" where it has none, and whether it grows. */
int swath_array_name(const swath_array* array, const char** name);
int swath_dimension(const swath_array* array, int dimension, const char** name, int* is_unlimited);

/* ---- Whose elements ---------------------------------------------------------------------------------------------- */

typedef struct swath_rule {
  int kind;      /* how one dimension is dealt out */
  int64_t block; /* elements of a block; 0 of SWATH_BLOCK: as HPF, equal blocks; 0 of SWATH_CYCLIC: 1 */
} swath_rule;
#define SWATH_WHOLE 0
#define SWATH_BLOCK 1
#define SWATH_CYCLIC 2

/* One rule, and one number of ranks, a dimension: 1 of SWATH_WHOLE. Rank i has place i, the last dimension fastest. */
int swath_distribution_create(int ndim, const swath_rule* rules, const int* grid, swath_distribution** distribution);
void swath_distribution_free(swath_distribution* distribution);
/* How many elements along each dimension a rank has of an array of that shape. */
int swath_local_shape(const swath_distribution* distribution, int ndim, const int64_t* shape, int rank, int64_t* local);

/* Elements start, start + step, … before stop; downwards where step is negative. SWATH_END: all there are. */
typedef struct swath_slice {
  int64_t start, stop, step;
} swath_slice;
#define SWATH_END INT64_MAX

/* ---- Reading and writing ----------------------------------------------------------------------------------------- */

/* COLLECTIVE. This rank's share of what is selected. `slices`: one a dimension, NULL: everything; the distribution
 * divides what they select. `strides`: bytes from one element of the share to the next along each dimension, any
 * number, NULL: packed in C order. `data` is the first element's address; any where the share is empty. A distribution
 * of NULL: all that is selected, for this rank alone; then it is NOT collective. */
int swath_read(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, void* data,
               const int64_t* strides);
int swath_write(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, const void* data,
                const int64_t* strides);
/* COLLECTIVE. The next record, of one dimension less than the array. A distribution of NULL: rank 0 has all of it. */
int swath_append(swath_array* array, const swath_distribution* distribution, const void* data, const int64_t* strides);

/* COLLECTIVE. Boxes [begin, end) that this rank has, `count` times `ndim` numbers each; for each its memory, and its
 * strides: NULL, or an entry of NULL: packed in C order. Boxes that are written do not share elements. */
int swath_read_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends, void* const* data,
                     const int64_t* const* strides);
int swath_write_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends,
                      const void* const* data, const int64_t* const* strides);

/* COLLECTIVE. The next record by boxes, of one dimension less than the array. What no rank has is the fill value. */
int swath_append_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends,
                       const void* const* data, const int64_t* const* strides);

/* COLLECTIVE. The same in the background, where that can be: memory stays as it is until swath_wait(). What was
 * started is in the order of all calls. A request is gone when it was waited for, also where it failed; each is waited
 * for, before its array is closed. */
int swath_read_async(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, void* data,
                     const int64_t* strides, swath_request** request);
int swath_write_async(swath_array* array, const swath_distribution* distribution, const swath_slice* slices,
                      const void* data, const int64_t* strides, swath_request** request);
int swath_wait(swath_request* request);

/* How a read (`write` 0) or write would be carried out, and what it would cost: a text, to be freed by swath_free(). */
int swath_explain(swath_array* array, int write, const swath_distribution* distribution, const swath_slice* slices,
                  char** text);

void swath_free(void* memory);

/* ---- For bindings of other languages ----------------------------------------------------------------------------- */

/* This process's rank, and how many there are; each may be NULL. */
int swath_ranks(const swath_array* array, int* rank, int* size);
/* COLLECTIVE, in the place of a read, write or append: this rank cannot, and says why. It fails on all ranks alike. */
int swath_refuse(swath_array* array, const char* message);
/* Makes a failure of that kind this thread's last one, and returns the kind. */
int swath_fail(int kind, const char* message);

#ifdef __cplusplus
}
#endif

#endif
