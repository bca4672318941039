/* A dataset of doubles, rows * columns, by parallel HDF5: written, read back and compared, collectively.

   pattern=column: columns are dealt to the ranks one by one, and each rank's are one hyperslab (mpich#2182); block: each
   rank has a block of rows; checker: every second row and column of a block of rows. rows=N, columns=N. */

#include <hdf5.h>

#include "phases.h"

typedef struct {
  hsize_t begin[2], stride[2], count[2];
} Slab;

static Slab slab_of(const char* pattern, hsize_t rows, hsize_t columns) {
  hsize_t r = (hsize_t)rank_, p = (hsize_t)ranks_;
  Slab column = {{0, r}, {1, p}, {rows, (columns - r + p - 1) / p}};
  Slab block = {{rows / p * r, 0}, {1, 1}, {rows / p, columns}};
  Slab checker = {{rows / p * r, 0}, {2, 2}, {rows / p / 2, columns / 2}};
  return strcmp(pattern, "column") == 0 ? column : strcmp(pattern, "block") == 0 ? block : checker;
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  hsize_t sizes[2] = {(hsize_t)argument(argc, argv, "rows", 100000), (hsize_t)argument(argc, argv, "columns", 2 * ranks_)};
  Slab slab = slab_of(text_argument(argc, argv, "pattern", "column"), sizes[0], sizes[1]);
  long long mine = (long long)(slab.count[0] * slab.count[1]);
  double* values = malloc(sizeof(double) * (size_t)mine);

  hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER), create = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  H5Pset_obj_track_times(create, 0);
  H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hid_t space = H5Screate_simple(2, sizes, NULL), memory = H5Screate_simple(2, slab.count, NULL);
  hid_t dataset = H5Dcreate2(file, "values", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, slab.begin, slab.stride, slab.count, NULL);
  for (int check = 0; check < 2; check++) {
    for (long long k = 0; k < mine; k++) {
      long long row = (long long)slab.begin[0] + (long long)slab.stride[0] * (k / (long long)slab.count[1]);
      long long column = (long long)slab.begin[1] + (long long)slab.stride[1] * (k % (long long)slab.count[1]);
      long long place = row * (long long)sizes[1] + column;
      if (check)
        require_value(values[k], place);
      else
        values[k] = value_at(place);
    }
    if (check) break;
    begin_phase();
    if (H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, values) < 0) refuse("H5Dwrite failed");
    end_phase("write", mine * ranks_ * (long long)sizeof(double));
    memset(values, 0, sizeof(double) * (size_t)mine);
    begin_phase();
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, values) < 0) refuse("H5Dread failed");
    end_phase("read", mine * ranks_ * (long long)sizeof(double));
  }
  H5Dclose(dataset), H5Sclose(space), H5Sclose(memory), H5Pclose(access), H5Pclose(transfer), H5Pclose(create);
  if (H5Fclose(file) < 0) refuse("H5Fclose failed");
  free(values);
  MPI_Finalize();
  return 0;
}
