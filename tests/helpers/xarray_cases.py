"""Data sets and files for the tests of xarray's engine, written by other engines."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tree import ROOT

xr = pytest.importorskip("xarray")

PYPROJECT = ROOT / "pyproject.toml"
TIMES = np.array(["2001-02-03T04:00", "2001-02-04T05:00", "NaT", "2001-02-06T07:00"], "M8[ns]")


def entry_point() -> EntryPoint:
    """Return the entry point in pyproject.toml for xarray, even if this version is not installed."""
    lines = PYPROJECT.read_text().partition('[project.entry-points."xarray.backends"]\n')[2].splitlines()
    name, value = lines[0].split(" = ")
    return EntryPoint(name, value.strip('"'), "xarray.backends")


def plain() -> Any:
    rng = np.random.default_rng(3)
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), rng.random((4, 3, 5)).astype("f4"), {"units": "K", "valid_range": [0.0, 1.0]}),
            "count": (("y", "x"), rng.integers(0, 100, (3, 5)).astype("i2"), {"missing": np.int16(-1)}),
            "scalar": ((), 7.5),
        },
        {"time": ("time", TIMES[[0, 1, 3, 3]]), "x": np.arange(5.0), "label": ("y", [1, 2, 3])},
        {"title": "a title", "numbers": np.array([1.5, 2.5]), "one": np.int32(3)},
    )


def packed() -> Any:
    values = np.array([[10.0, 10.5, np.nan], [11.0, np.nan, 12.0]])
    encoding = {"dtype": "i2", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": np.int16(-999)}
    unsigned = {"dtype": "i1", "_Unsigned": "true", "scale_factor": 0.5, "_FillValue": -1}
    return xr.Dataset({"p": (("y", "x"), values, {}, encoding), "u": (("y", "x"), values * 8, {}, unsigned)})


def masked() -> Any:
    values = np.array([1.0, np.nan, 3.0], "f4")
    encoding = {"_FillValue": np.float32(1e20), "missing_value": np.float32(1e20)}
    return xr.Dataset(
        {"m": ("x", values, {}, encoding), "whole": ("x", np.array([1, 2, 3], "i4"), {"missing_value": 2})}
    )


def times() -> Any:
    encoding = {"units": "hours since 2000-01-01", "dtype": "f8"}
    return xr.Dataset(
        {
            "when": ("n", TIMES, {}, encoding),
            "took": ("n", np.array([1, 2, 3, 4], "m8[D]").astype("m8[ns]"), {}, {"units": "hours", "dtype": "i4"}),
        }
    )


def texts() -> Any:
    return xr.Dataset(
        {
            "s": ("n", np.array(["", "été", "three"], object)),
            "b": ("n", np.array([b"one", b"two", b"four"])),
            "alone": ((), "a text"),
        },
        attrs={"history": "a\nb", "empty": ""},
    )


def empty() -> Any:
    return xr.Dataset({"e": (("time", "x"), np.zeros((0, 3)))}, attrs={"n": 1})


def kinds() -> Any:
    """All numbers that netCDF-4 and Zarr have."""
    names = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
    return xr.Dataset({name: ("n", np.array([1, 2, 3], name)) for name in names})


DATA_SETS: dict[str, Callable[[], Any]] = {
    "plain": plain,
    "packed": packed,
    "masked": masked,
    "times": times,
    "texts": texts,
    "empty": empty,
    "kinds": kinds,
}
NOT_CLASSIC = ("kinds",)


def netcdf4(data_set: Any, path: Path) -> None:
    unlimited = ["time"] if "time" in data_set.dims else []
    data_set.to_netcdf(path, engine="netcdf4", format="NETCDF4", unlimited_dims=unlimited)


def netcdf3(data_set: Any, path: Path) -> None:
    unlimited = ["time"] if "time" in data_set.dims else []
    data_set.to_netcdf(path, engine="netcdf4", format="NETCDF3_64BIT", unlimited_dims=unlimited)


def h5netcdf(data_set: Any, path: Path) -> None:
    encoding = {
        name: {"zlib": True, "shuffle": True, "fletcher32": True, "chunksizes": tuple(max(n - 1, 1) for n in v.shape)}
        for name, v in data_set.variables.items()
        if v.ndim and v.size and v.dtype.kind in "iuf" and name in data_set.data_vars
    }
    for name, words in encoding.items():
        words.update({k: v for k, v in data_set[name].encoding.items() if k not in words})
    data_set.to_netcdf(path, engine="h5netcdf", encoding=encoding)


def zarr3(data_set: Any, path: Path) -> None:
    data_set.to_zarr(path, zarr_format=3)


def zarr2(data_set: Any, path: Path) -> None:
    data_set.to_zarr(path, zarr_format=2)


WRITERS: dict[str, tuple[Callable[[Any, Path], None], str, tuple[str, ...]]] = {
    "netcdf4": (netcdf4, "a.nc", ("netcdf4", "h5netcdf")),
    "netcdf3": (netcdf3, "a.nc", ("netcdf4", "scipy")),
    "h5netcdf": (h5netcdf, "a.h5", ("netcdf4", "h5netcdf")),
    "zarr3": (zarr3, "a.zarr", ("zarr",)),
    "zarr2": (zarr2, "a.zarr", ("zarr",)),
}
"""A writer, the name of its file, and the engines that read it."""

CASES = [
    (case, writer) for case in DATA_SETS for writer in WRITERS if not (writer == "netcdf3" and case in NOT_CLASSIC)
]
