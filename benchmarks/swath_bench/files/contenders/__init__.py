"""The contenders, by their names in tables and on the command line."""

from __future__ import annotations

from swath_bench.files.cases import HDF5, NCCOPY, NETCDF, PARALLEL, SWATH, XARRAY, ZARR
from swath_bench.files.contenders.base import Contender
from swath_bench.files.contenders.hdf5 import H5py, ParallelH5py
from swath_bench.files.contenders.nccopy import Nccopy
from swath_bench.files.contenders.netcdf import NetCDF4
from swath_bench.files.contenders.swath import Swath
from swath_bench.files.contenders.xarray import Xarray
from swath_bench.files.contenders.zarr import Zarr

CONTENDERS: dict[str, Contender] = {
    SWATH: Swath(),
    NETCDF: NetCDF4(),
    HDF5: H5py(),
    ZARR: Zarr(),
    **{name: Xarray(name.partition("-")[2]) for name in XARRAY},
    NCCOPY: Nccopy(),
    PARALLEL: ParallelH5py(),
}
