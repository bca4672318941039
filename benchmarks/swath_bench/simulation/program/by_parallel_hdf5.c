/* Parallel HDF5: collective calls of all ranks, compressed or contiguous. */
#include <hdf5.h>
#include <mpi.h>

#include "dump.h"

const int kFileIsSynced = 0;

static hid_t asked(hid_t id) {
  must(id >= 0, "hdf5", NULL);
  return id;
}

void write_dump(const dump* d) {
  hsize_t shape[kDimensionsMax], begin[kDimensionsMax], count[kDimensionsMax];
  for (int along = 0; along < d->ndim; ++along) {
    shape[along] = (hsize_t)d->shape[along];
    begin[along] = (hsize_t)d->begin[along];
    count[along] = (hsize_t)d->count[along];
  }
  const hid_t access = asked(H5Pcreate(H5P_FILE_ACCESS)), made = asked(H5Pcreate(H5P_DATASET_CREATE));
  const hid_t moved = asked(H5Pcreate(H5P_DATASET_XFER));
  asked(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  asked(H5Pset_coll_metadata_write(access, 1));
  asked(H5Pset_all_coll_metadata_ops(access, 1));
  asked(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
  asked(H5Pset_fill_time(made, H5D_FILL_TIME_NEVER));
  asked(H5Pset_dxpl_mpio(moved, H5FD_MPIO_COLLECTIVE));
  if (d->compresses) {
    asked(H5Pset_chunk(made, d->ndim, count));
    asked(H5Pset_shuffle(made));
    asked(H5Pset_deflate(made, kDeflateLevel));
  }
  const hid_t file = asked(H5Fcreate(d->path, H5F_ACC_TRUNC, H5P_DEFAULT, access));
  const hid_t whole = asked(H5Screate_simple(d->ndim, shape, NULL)),
              own = asked(H5Screate_simple(d->ndim, count, NULL));
  asked(H5Sselect_hyperslab(whole, H5S_SELECT_SET, begin, NULL, count, NULL));
  for (int v = 0; v < d->variables; ++v) {
    const hid_t set =
        asked(H5Dcreate2(file, variable_name(v), H5T_NATIVE_FLOAT, whole, H5P_DEFAULT, made, H5P_DEFAULT));
    asked(H5Dwrite(set, H5T_NATIVE_FLOAT, own, whole, moved, d->values[v]));
    asked(H5Dclose(set));
  }
  asked(H5Sclose(whole));
  asked(H5Sclose(own));
  asked(H5Fclose(file));
  asked(H5Pclose(moved));
  asked(H5Pclose(made));
  asked(H5Pclose(access));
}
