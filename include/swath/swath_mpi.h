/* Swath from C with the ranks of MPI. These functions are in the library swath_mpi, which is built for one MPI. All are
 * COLLECTIVE over the communicator, with the same arguments on all ranks. Close all files before MPI_Finalize(). */
#ifndef SWATH_SWATH_MPI_H
#define SWATH_SWATH_MPI_H

#include <mpi.h>

#include "swath.h"

#ifdef __cplusplus
extern "C" {
#endif

int swath_file_open_mpi(MPI_Comm comm, const char* path, const char* mode, const swath_options* options,
                        swath_file** file);
int swath_file_create_mpi(MPI_Comm comm, const char* path, const swath_options* options, swath_file** file);
int swath_open_mpi(MPI_Comm comm, const char* path, const char* variable, const char* mode,
                   const swath_options* options, swath_array** array);
int swath_open_raw_mpi(MPI_Comm comm, const char* path, int ndim, const int64_t* shape, const char* dtype,
                       const char* mode, const swath_options* options, swath_array** array);
int swath_create_mpi(MPI_Comm comm, const char* path, const char* variable, int ndim, const int64_t* shape,
                     const char* dtype, const swath_options* options, swath_array** array);

/* Redistributes an array in memory from one distribution to another. Shares are packed in C order. */
int swath_redistribute_mpi(MPI_Comm comm, int ndim, const int64_t* shape, const char* dtype,
                           const swath_distribution* from, const void* source, const swath_distribution* to,
                           void* target);

#ifdef __cplusplus
}
#endif

#endif
