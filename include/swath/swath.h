/* Swath from C: arrays in files of many formats, read and written by all ranks together. For MPI see swath_mpi.h.
 *
 *   swath_array *t;
 *   swath_open("ocean.nc", "temperature", "r", NULL, &t);
 *   swath_read(t, NULL, NULL, values, NULL);
 *   swath_close(t);
 *
 * Every function that returns an int returns 0, or the kind of its error; swath_error_message() then describes the
 * error, and results by pointer are NULL or unchanged. Collective functions return the same error on all ranks.
 *
 * All ranks that opened the file call COLLECTIVE functions in the same order, with the same arguments except memory,
 * strides and boxes. A file that was opened without MPI has one rank, 0.
 *
 * Elements in memory have this machine's byte order, whatever the file has. Any number of threads may call functions;
 * only one thread at a time may call collective ones.
 *
 * A structure that a program fills in begins with its size, so that a newer library recognises an older program. No
 * function ever changes its meaning.
 */
#ifndef SWATH_SWATH_H
#define SWATH_SWATH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct swath_file swath_file;                 /* an open file */
typedef struct swath_array swath_array;               /* an array of a file */
typedef struct swath_distribution swath_distribution; /* which rank has which elements */
typedef struct swath_request swath_request;           /* a read or write in the background */

#define SWATH_DIMENSIONS_MAX 32
#define SWATH_DTYPE_MAX 128

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

#define SWATH_OK 0
#define SWATH_ERROR_ARGUMENT 1     /* an invalid argument; nothing was changed */
#define SWATH_ERROR_STORE 2        /* an error of the system, or a short transfer: swath_error_errno() */
#define SWATH_ERROR_FORMAT 3       /* the file is invalid */
#define SWATH_ERROR_DISAGREEMENT 4 /* the ranks gave different arguments */
#define SWATH_ERROR_UNSUPPORTED 5  /* a valid request that this build, or this file, does not support */
#define SWATH_ERROR_INTERNAL 6     /* a bug in Swath */
#define SWATH_ERROR_INTERRUPTED 7  /* interrupted: written elements are partly old, partly new */

/* The last error of this thread; "", 0 and 0 if there was none. The text is valid until the next error. */
const char* swath_error_message(void);
int swath_error_kind(void);
int swath_error_errno(void);

const char* swath_version(void); /* version of the library: "0.1.0" */

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* A member that is NULL or 0 has its default: Swath chooses. Other defaults are noted. */
typedef struct swath_options {
  size_t size;         /* size of this structure in the program's header: swath_options_init() */
  const char* format;  /* of a new file: "netcdf4", "netcdf-classic:cdf5", "hdf5", "zarr", "npy", "raw"; NULL: suffix */
  const char* order;   /* of a new or raw array: "C", "F", or dimensions from slowest to fastest: "2,0,1" */
  const char* engine;  /* how requests are made: "posix", "uring" */
  const char* method;  /* the access method: "auto", "direct", "sieve", "list", "two-phase" */
  const char* streams; /* concurrent streams of this node at a target: "auto", "none", "4", "read=4,write=auto" */
  const char* codecs;  /* of a new array, in the order of encoding: "shuffle,zlib:4"; "": none */
  const int64_t* chunks;         /* of a new array: chunk shape */
  const int64_t* shards;         /* of a new Zarr array: shard shape, a multiple of the chunk shape */
  const void* fill;              /* of a new array: one element, the value of unwritten elements */
  const char* const* dimensions; /* for swath_create(): a name for each dimension */
  int64_t offset;                /* for opening a raw file: bytes before its first element */
  int overwrite;                 /* 1: a new file may replace an existing one; default 0 */
  int atomic;                    /* 1: a new file has a temporary name until it is complete; default 1 */
} swath_options;

/* Sets the defaults. To be called before the program sets members. */
#define swath_options_init(options) swath_options_init_sized((options), sizeof(swath_options))
void swath_options_init_sized(swath_options* options, size_t size);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Opens a file. `mode`: "r", or "r+" to write in place, define arrays, append records and set attributes. */
int swath_file_open(const char* path, const char* mode, const swath_options* options, swath_file** file);
/* Creates a file. It gets its name when it is closed; if it has growing arrays, at the first sync. */
int swath_file_create(const char* path, const swath_options* options, swath_file** file);
/* COLLECTIVE. On return, written data is on the medium, and changes are permanent. */
int swath_file_sync(swath_file* file);
/* COLLECTIVE. Completes the file, and frees its handle and those of its arrays, even if it fails. */
int swath_file_close(swath_file* file);
/* COLLECTIVE. Closes the file without completing it: removes a new file, or undoes changes since the last sync. */
int swath_file_discard(swath_file* file);

/* COLLECTIVE. Adds an array. A length of SWATH_UNLIMITED in `shape` makes a dimension that grows by swath_append().
 * `dimensions`: their names; NULL: no names. `dtype`: in NumPy's notation, "f4", "<i8", "S5"; without a byte order,
 * this machine's. The array belongs to the file: its handle is valid until the file is closed. */
int swath_define(swath_file* file, const char* variable, int ndim, const int64_t* shape, const char* const* dimensions,
                 const char* dtype, const swath_options* options, swath_array** array);
#define SWATH_UNLIMITED ((int64_t)-1)
/* COLLECTIVE at the first call for each name. Gets an array of the file: "t", "ocean/t"; NULL: the file's only array.
 * It belongs to the file. */
int swath_variable(swath_file* file, const char* name, swath_array** array);

/* The contents of a file. Names are paths: "ocean/t". Returned texts are valid until the file is changed or closed. */
int swath_variable_count(const swath_file* file, int64_t* count);
int swath_variable_name(const swath_file* file, int64_t number, const char** name);
int swath_group_count(const swath_file* file, int64_t* count); /* the first group is the file itself, "" */
int swath_group_name(const swath_file* file, int64_t number, const char** name);

/* Attributes of the file (`holder` NULL or ""), of a group, or of a variable. `dtype` is that of numbers ("f8", "i4"),
 * or "text": one text in UTF-8; then `values` is a char *, and `count` its number of bytes, or -1: up to the NUL. */
/* COLLECTIVE. Adds or replaces one; `values` NULL removes it. */
int swath_set_attribute(swath_file* file, const char* holder, const char* name, const char* dtype, int64_t count,
                        const void* values);
/* `values` receives memory to be freed by swath_free(); it may be NULL. A "text" ends with a NUL that is not counted.
 * "texts" are `count` texts, each with its NUL. Other values, which only Zarr has, are "json". */
int swath_get_attribute(const swath_file* file, const char* holder, const char* name,
                        char* dtype /* [SWATH_DTYPE_MAX] */, int64_t* count, void** values);
int swath_attribute_count(const swath_file* file, const char* holder, int64_t* count);
int swath_attribute_name(const swath_file* file, const char* holder, int64_t number, const char** name);

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* Opens an array together with its file; `variable` NULL: the file's only array. */
int swath_open(const char* path, const char* variable, const char* mode, const swath_options* options,
               swath_array** array);
/* The same for a raw file, which does not store its shape and type. */
int swath_open_raw(const char* path, int ndim, const int64_t* shape, const char* dtype, const char* mode,
                   const swath_options* options, swath_array** array);
/* Creates a file with one array; `variable` NULL: "data", or no name if the format holds one array only. */
int swath_create(const char* path, const char* variable, int ndim, const int64_t* shape, const char* dtype,
                 const swath_options* options, swath_array** array);
/* COLLECTIVE. The same as the functions of files, for the file of an array. */
int swath_sync(swath_array* array);
int swath_close(swath_array* array);   /* of an array that belongs to a file: does nothing */
int swath_discard(swath_array* array); /* of an array that belongs to a file: an error */
/* The file of an array, for attributes and names. It is closed with the array. */
swath_file* swath_file_of(swath_array* array);

/* The shape and type of an array; each pointer may be NULL. `shape`: [SWATH_DIMENSIONS_MAX]; `dtype`:
 * [SWATH_DTYPE_MAX], the type of elements in memory, in NumPy's notation: "<f4". */
int swath_inquire(const swath_array* array, int* ndim, int64_t* shape, char* dtype);
/* The array's path in the file; the name of a dimension ("" if it has none), and 1 if that dimension grows. */
int swath_array_name(const swath_array* array, const char** name);
int swath_dimension(const swath_array* array, int dimension, const char** name, int* is_unlimited);

/* ---- Whose elements ---------------------------------------------------------------------------------------------- */

typedef struct swath_rule {
  int kind;      /* how one dimension is distributed */
  int64_t block; /* block size; 0: equal blocks, as in HPF, for SWATH_BLOCK, and 1 for SWATH_CYCLIC */
} swath_rule;
#define SWATH_WHOLE 0
#define SWATH_BLOCK 1
#define SWATH_CYCLIC 2

/* One rule and one number of ranks for each dimension; the number is 1 for SWATH_WHOLE. Rank i has position i in the
 * grid, in C order. */
int swath_distribution_create(int ndim, const swath_rule* rules, const int* grid, swath_distribution** distribution);
void swath_distribution_free(swath_distribution* distribution);
/* The shape of a rank's share of an array of that shape. */
int swath_local_shape(const swath_distribution* distribution, int ndim, const int64_t* shape, int rank, int64_t* local);

/* Elements start, start + step, … before stop; a negative step goes downwards. SWATH_END as stop: no bound. */
typedef struct swath_slice {
  int64_t start, stop, step;
} swath_slice;
#define SWATH_END INT64_MAX

/* ---- Reading and writing ----------------------------------------------------------------------------------------- */

/* COLLECTIVE. Transfers this rank's share of a selection. `slices`: the selection, one slice for each dimension, NULL:
 * the whole array. The distribution divides the selected elements. `strides`: bytes from one element of the share to
 * the next along each dimension, of any value; NULL: packed in C order. `data`: the address of the first element;
 * ignored if the share is empty. If `distribution` is NULL, this rank alone transfers the whole selection, and the call
 * is NOT collective. */
int swath_read(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, void* data,
               const int64_t* strides);
int swath_write(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, const void* data,
                const int64_t* strides);
/* COLLECTIVE. Appends a record, which has one dimension less than the array. If `distribution` is NULL, rank 0 has the
 * whole record. */
int swath_append(swath_array* array, const swath_distribution* distribution, const void* data, const int64_t* strides);

/* COLLECTIVE. Transfers this rank's boxes [begin, end). `begins`, `ends`: `count` times `ndim` numbers. `data`,
 * `strides`: the memory and the strides of each box; `strides` or an entry of it may be NULL: packed in C order.
 * Written boxes must not overlap. */
int swath_read_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends, void* const* data,
                     const int64_t* const* strides);
int swath_write_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends,
                      const void* const* data, const int64_t* const* strides);

/* COLLECTIVE. Appends a record by boxes, which have one dimension less than the array. Elements in no box get the fill
 * value. */
int swath_append_boxes(swath_array* array, int count, const int64_t* begins, const int64_t* ends,
                       const void* const* data, const int64_t* const* strides);

/* COLLECTIVE. Starts a read or write, in the background if possible. The memory must stay valid and unchanged until
 * swath_wait(). Operations take effect in the order of all calls. swath_wait() frees the request, even if the operation
 * failed; every request must be waited for before its array is closed. */
int swath_read_async(swath_array* array, const swath_distribution* distribution, const swath_slice* slices, void* data,
                     const int64_t* strides, swath_request** request);
int swath_write_async(swath_array* array, const swath_distribution* distribution, const swath_slice* slices,
                      const void* data, const int64_t* strides, swath_request** request);
int swath_wait(swath_request* request);

/* Describes the plan of a read (`write` 0) or write, and its estimated cost: a text, to be freed by swath_free(). */
int swath_explain(swath_array* array, int write, const swath_distribution* distribution, const swath_slice* slices,
                  char** text);

void swath_free(void* memory);

/* ---- For bindings of other languages ----------------------------------------------------------------------------- */

/* The rank of this process, and the number of ranks; each pointer may be NULL. */
int swath_ranks(const swath_array* array, int* rank, int* size);
/* COLLECTIVE. Called instead of a read, write or append by a rank that has found an error before: all ranks get the
 * error. */
int swath_refuse(swath_array* array, const char* message);
/* Sets the last error of this thread, and returns its kind. */
int swath_fail(int kind, const char* message);

#ifdef __cplusplus
}
#endif

#endif
