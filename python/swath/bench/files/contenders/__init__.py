"""The contenders, by their names in tables and on the command line."""

from __future__ import annotations

from swath.bench.files.cases import HDF5, NCCOPY, NETCDF, PARALLEL, SWATH, XARRAY, ZARR
from swath.bench.files.contenders.base import Contender
from swath.bench.files.contenders.hdf5 import H5py, ParallelH5py
from swath.bench.files.contenders.nccopy import Nccopy
from swath.bench.files.contenders.netcdf import NetCDF4
from swath.bench.files.contenders.swath import Swath
from swath.bench.files.contenders.xarray import Xarray
from swath.bench.files.contenders.zarr import Zarr

CONTENDERS: dict[str, Contender] = {
    SWATH: Swath(),
    NETCDF: NetCDF4(),
    HDF5: H5py(),
    ZARR: Zarr(),
    **{name: Xarray(name.partition("-")[2]) for name in XARRAY},
    NCCOPY: Nccopy(),
    PARALLEL: ParallelH5py(),
}
