"""The source files, which are made once: by other libraries, not by Swath."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal

import numpy as np

from swath.errors import UnsupportedError
from swath_bench.files.job import DIMENSIONS, NAME, SMALL, several_names
from swath_bench.files.sizes import LEAST_BYTES, MANY, Sizes

DEFLATE_LEVEL: Literal[4] = 4
LEVELS = 32
"""Measured values are rounded to this fraction of a unit."""
SEED = 1
MANY_SHAPE = (12, 18, 36)
THOUSANDS_SHAPE = (4, 6, 8)


def check_can_make() -> None:
    """Raise UnsupportedError if the libraries that make the sources are missing."""
    try:
        import h5py  # noqa: F401
        import netCDF4  # noqa: F401
    except ImportError as error:
        raise UnsupportedError(
            f"files: its sources are made by netCDF4: {error}: pip install 'swath[netcdf,hdf5]'"
        ) from None


def make(folder: str, sizes: Sizes) -> dict[str, int]:
    """Make all sources in `folder`, and small ones below it; return the bytes of each large one."""
    check_can_make()
    small = os.path.join(folder, SMALL)
    os.makedirs(small)
    for where, size in ((small, Sizes(LEAST_BYTES, 1)), (folder, sizes)):
        array = _array(os.path.join(where, "array.npy"), size)
        _netcdf(os.path.join(where, "source.nc4"), array, size.chunks)
        _several(os.path.join(where, "several.nc4"), array, size)
        _zarr(os.path.join(where, "source.zarr"), array, size.chunks)
        _many(where)
        _thousands(os.path.join(where, "thousands.nc4"), size.thousands)
        _files(os.path.join(where, "files.nc4"), size.files)
    return {"array": sizes.shape[0] * sizes.shape[1] * sizes.shape[2] * 4} | {
        name: os.path.getsize(os.path.join(folder, name)) for name in ("source.nc4", "several.nc4")
    }


def _array(path: str, sizes: Sizes) -> Any:
    """A smooth field that moves, and noise, rounded as measured values are: it compresses to about a third."""
    times, rows, columns = sizes.shape
    made = np.lib.format.open_memmap(path, mode="w+", dtype="<f4", shape=sizes.shape)
    y = np.linspace(-1.5, 1.5, rows, dtype="f4")[:, None]
    x = np.linspace(0, 6.28, columns, dtype="f4")
    random = np.random.default_rng(SEED)
    for time in range(times):
        field = 280 + 20 * np.cos(y) + 5 * np.sin(x + np.float32(0.0172 * time))
        noise = random.standard_normal((rows, columns), dtype="f4")
        made[time] = np.round((field + np.float32(0.5) * noise) * LEVELS) / LEVELS
    made.flush()
    return made


def _netcdf(path: str, array: Any, chunks: tuple[int, ...]) -> None:
    import netCDF4

    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        for name, extent in zip(DIMENSIONS, array.shape, strict=True):
            file.createDimension(name, extent)
        made = file.createVariable(
            NAME, "f4", DIMENSIONS, zlib=True, complevel=DEFLATE_LEVEL, shuffle=True, chunksizes=chunks
        )
        made.units = "K"
        for begin in range(0, len(array), chunks[0]):
            made[begin : begin + chunks[0]] = array[begin : begin + chunks[0]]


def _several(path: str, array: Any, sizes: Sizes) -> None:
    """A file of several variables, each with a part of the array's times, and of their coordinates."""
    import netCDF4

    times = sizes.part_shape[0]
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        file.title = "several variables"
        for name, extent in zip(DIMENSIONS, sizes.part_shape, strict=True):
            file.createDimension(name, extent)
            file.createVariable(name, "f8", (name,))[:] = np.arange(extent)
        for number, name in enumerate(several_names()):
            made = file.createVariable(
                name,
                "f4",
                DIMENSIONS,
                zlib=True,
                complevel=DEFLATE_LEVEL,
                shuffle=True,
                chunksizes=sizes.part_chunks,
            )
            made.units = "K"
            for begin in range(0, times, sizes.part_chunks[0]):
                end = min(begin + sizes.part_chunks[0], times)
                made[begin:end] = array[number * times + begin : number * times + end]


def _zarr(path: str, array: Any, chunks: tuple[int, ...]) -> None:
    """Make a Zarr store, or nothing without zarr-python: then zarr is refused by name in its turn."""
    try:
        import zarr
    except ImportError:
        return
    made = zarr.create_array(path, shape=array.shape, dtype="f4", chunks=chunks, compressors=zarr_deflate())
    for begin in range(0, len(array), chunks[0]):
        made[begin : begin + chunks[0]] = array[begin : begin + chunks[0]]


def zarr_deflate() -> Any:
    """Return the codec of Zarr that corresponds to deflate with shuffle."""
    from zarr.codecs import BloscCodec

    return BloscCodec(cname="zlib", clevel=DEFLATE_LEVEL, shuffle="shuffle")


def many_values(number: int, shape: tuple[int, ...] = MANY_SHAPE) -> Any:
    """Return the values of one of the many variables."""
    return np.arange(np.prod(shape), dtype="f4").reshape(shape) + np.float32(number)


def _many(folder: str) -> None:
    """The file of many variables, in each format; nothing where xarray is not installed."""
    try:
        import xarray as xr
    except ImportError:
        return
    attributes = {"units": "K", "long_name": "air temperature", "standard_name": "air_temperature"}
    coordinates = {
        "time": ("time", np.arange(MANY_SHAPE[0]), {"units": "days since 2000-01-01", "calendar": "standard"}),
        "y": ("y", np.linspace(-90, 90, MANY_SHAPE[1]), {"units": "degrees_north"}),
        "x": ("x", np.linspace(0, 350, MANY_SHAPE[2]), {"units": "degrees_east"}),
    }
    variables = {f"v{number:03}": (DIMENSIONS, many_values(number), attributes) for number in range(MANY)}
    data = xr.Dataset(variables, coordinates, {"title": "many variables"})
    coded = {"zlib": True, "complevel": DEFLATE_LEVEL, "chunksizes": (1, *MANY_SHAPE[1:]), "_FillValue": -999.0}
    encoding: Any = dict.fromkeys(variables, coded)
    data.to_netcdf(os.path.join(folder, "many.nc4"), engine="netcdf4", encoding=encoding)
    data.to_netcdf(os.path.join(folder, "many.nc"), engine="netcdf4", format="NETCDF3_64BIT")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zarr-python warns that consolidated metadata are not part of Zarr 3 yet
            data.to_zarr(os.path.join(folder, "many.zarr"))
    except ImportError:
        return


def _thousands(path: str, variables: int) -> None:
    """A file of many small variables of the same dimensions, as long runs and ensembles leave them."""
    import netCDF4

    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        _coordinates(file, THOUSANDS_SHAPE, 0)
        for number in range(variables):
            _variable(file, f"v{number:05}", many_values(number, THOUSANDS_SHAPE))


def _files(folder: str, files: int) -> None:
    """A folder with a file for each year: together they are one dataset along time."""
    import netCDF4

    os.mkdir(folder)
    for number in range(files):
        with netCDF4.Dataset(os.path.join(folder, f"year{number:03}.nc4"), "w", format="NETCDF4") as file:
            _coordinates(file, MANY_SHAPE, number * MANY_SHAPE[0])
            _variable(file, NAME, many_values(number))


def _coordinates(file: Any, shape: tuple[int, ...], first_time: int) -> None:
    for name, extent in zip(DIMENSIONS, shape, strict=True):
        file.createDimension(name, extent)
        made = file.createVariable(name, "f8", (name,))
        made[:] = np.arange(extent) + (first_time if name == "time" else 0)
        made.units = "days since 2000-01-01" if name == "time" else "m"


def _variable(file: Any, name: str, values: Any) -> None:
    made = file.createVariable(name, "f4", DIMENSIONS, chunksizes=values.shape)
    made.units = "K"
    made[:] = values
