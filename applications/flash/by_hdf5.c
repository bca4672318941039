/* By parallel HDF5, collectively: memory between guard cells is a hyperslab. */
#ifdef FLASH_HDF5
#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include "ways.h"

typedef struct {
  hid_t file;
  char path[4096];
  int is_new;
} hdf5_file;

static hid_t must(hid_t status) {
  if (status < 0) fail("HDF5 failed; it says more above", "flash");
  return status;
}

static hid_t type_of(const variable* v) {
  if (strcmp(v->dtype, "f8") == 0) return H5T_NATIVE_DOUBLE;
  return strcmp(v->dtype, "f4") == 0 ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT;
}

static hdf5_file* opened(const char* path, int is_new) {
  hdf5_file* file = allocated(sizeof *file);
  const hid_t access = must(H5Pcreate(H5P_FILE_ACCESS));
  must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  file->file =
      must(is_new ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDONLY, access));
  file->is_new = is_new;
  snprintf(file->path, sizeof file->path, "%s", path);
  H5Pclose(access);
  return file;
}

static void* create(const char* path, const variables* contents, const char* codecs) {
  hdf5_file* file = opened(path, 1);
  if (codecs[0] != '\0') fail("this way does not compress; use way=swath", "flash");
  for (int i = 0; i < contents->count; ++i) {
    const variable* v = &contents->of[i];
    hsize_t shape[kDimensionsMax];
    for (int d = 0; d < v->ndim; ++d) shape[d] = (hsize_t)v->shape[d];
    const hid_t space = must(H5Screate_simple(v->ndim, shape, NULL));
    H5Dclose(must(H5Dcreate2(file->file, v->name, type_of(v), space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    H5Sclose(space);
  }
  return file;
}

static void* open_file(const char* path, const variables* contents) {
  (void)contents;
  return opened(path, 0);
}

/* The hyperslabs of this rank's blocks in the file and in memory. The extents in memory are quotients of strides. */
static void select_blocks(const variable* v, const blocks* mine, hid_t in_file, hid_t* in_memory) {
  hsize_t start[kDimensionsMax + 1] = {(hsize_t)mine->first}, count[kDimensionsMax + 1], memory[kDimensionsMax + 1];
  for (int d = 0; d < v->ndim; ++d) {
    count[d] = (hsize_t)(d == 0 ? mine->count : v->shape[d]);
    memory[d] = d == 0 ? count[0] : (hsize_t)(mine->strides[d - 1] / mine->strides[d]);
  }
  count[v->ndim] = 1;
  memory[v->ndim] = (hsize_t)(mine->strides[v->ndim - 1] / bytes_of_element(v));
  must(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, count, NULL));
  start[0] = 0;
  *in_memory = must(H5Screate_simple(v->ndim + 1, memory, NULL));
  must(H5Sselect_hyperslab(*in_memory, H5S_SELECT_SET, start, NULL, count, NULL));
  if (mine->count == 0) {
    must(H5Sselect_none(in_file));
    must(H5Sselect_none(*in_memory));
  }
}

static void move(hdf5_file* file, const variable* v, const blocks* mine, int is_write) {
  const hid_t set = must(H5Dopen2(file->file, v->name, H5P_DEFAULT)), in_file = must(H5Dget_space(set));
  const hid_t how = must(H5Pcreate(H5P_DATASET_XFER));
  hid_t in_memory;
  must(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE));
  select_blocks(v, mine, in_file, &in_memory);
  must(is_write ? H5Dwrite(set, type_of(v), in_memory, in_file, how, mine->data)
                : H5Dread(set, type_of(v), in_memory, in_file, how, mine->data));
  H5Pclose(how);
  H5Sclose(in_memory);
  H5Sclose(in_file);
  H5Dclose(set);
}

static void write_blocks(void* file, const variables* contents, int number, const blocks* mine) {
  move(file, &contents->of[number], mine, 1);
}

static void read_blocks(void* file, const variables* contents, int number, const blocks* mine) {
  move(file, &contents->of[number], mine, 0);
}

static void close_file(void* opened_file) {
  hdf5_file* file = opened_file;
  must(H5Fclose(file->file));
  const int descriptor = open(file->path, O_RDWR);
  if (file->is_new && fsync(descriptor) != 0) fail("fsync failed", file->path);
  close(descriptor);
  free(file);
}

const way by_hdf5 = {"hdf5", "h5", create, open_file, write_blocks, read_blocks, close_file};
#else
typedef int without_hdf5;
#endif
