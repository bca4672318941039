"""A new .nc file has the same format in all functions; an old one keeps its format."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

import swath
import swath.xarray
from swath import formats

DATA_SET = xr.Dataset({"t": ("x", np.arange(3.0))})


def create(folder: Path, target: Path) -> None:
    with swath.create(target, (3,), "f8", variable="t", dimensions=("x",)) as a:
        a[...] = np.arange(3)


def create_file(folder: Path, target: Path) -> None:
    with swath.create_file(target) as f:
        f.create("t", (3,), "f8", dimensions=("x",))[...] = np.arange(3)


def to_file(folder: Path, target: Path) -> None:
    DATA_SET.swath.to_file(target)


def copy_of(source_format: str, **how: Any) -> Callable[[Path, Path], None]:
    def copy(folder: Path, target: Path) -> None:
        DATA_SET.to_netcdf(folder / "source", format=source_format, engine="netcdf4")
        swath.copy(folder / "source", target, **how)

    return copy


MAKERS: dict[str, Callable[[Path, Path], None]] = {
    "create": create,
    "create_file": create_file,
    "to_file": to_file,
    "copy of netCDF-4": copy_of("NETCDF4"),
    "copy of netCDF classic": copy_of("NETCDF3_CLASSIC"),
    "copy of one variable": copy_of("NETCDF3_CLASSIC", variable="t"),
    "copy of some variables": copy_of("NETCDF3_64BIT", variable=["t"], coordinates=True),
    "copy by names": copy_of("NETCDF3_64BIT", chunks={"x": 2}),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_new_nc_file_is_what_to_netcdf_makes(tmp_path: Path, maker: str) -> None:
    DATA_SET.to_netcdf(tmp_path / "expected.nc")
    MAKERS[maker](tmp_path, tmp_path / "made.nc")
    with netCDF4.Dataset(tmp_path / "expected.nc") as expected, netCDF4.Dataset(tmp_path / "made.nc") as made:
        assert made.data_model == expected.data_model == "NETCDF4"
        np.testing.assert_array_equal(made["t"][:], np.arange(3))
        assert made["t"].dimensions == ("x",)


@pytest.mark.parametrize("maker", [maker for maker in MAKERS if maker != "copy by names"])  # it has no chunks
def test_nc3_is_netcdf_classic(tmp_path: Path, maker: str) -> None:
    MAKERS[maker](tmp_path, tmp_path / "made.nc3")
    with netCDF4.Dataset(tmp_path / "made.nc3") as made:
        kept = {"copy of netCDF classic": "NETCDF3_CLASSIC", "copy of some variables": "NETCDF3_64BIT_OFFSET"}
        assert made.data_model == kept.get(maker, "NETCDF3_64BIT_DATA")  # the copy of a whole file keeps the version
        np.testing.assert_array_equal(made["t"][:], np.arange(3))


def test_nc_is_netcdf_classic_without_h5py_and_in_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    assert formats.format_for("a.nc") == "netcdf4"
    assert formats.format_for("rados:pool/a.nc?id=ann") == "netcdf-classic"
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "h5py" else find(name))
    assert formats.format_for("a.nc") == "netcdf-classic"
    assert formats.format_for("a.nc4") == "netcdf4"


@pytest.mark.parametrize("model", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF4"])
def test_variables_are_added_to_an_old_nc_file_as_what_it_is(tmp_path: Path, model: str) -> None:
    path = tmp_path / "a.nc"
    DATA_SET.to_netcdf(path, format=model.removesuffix("_OFFSET"), engine="netcdf4")
    with swath.create(path, (3,), "f4", variable="created", dimensions=("x",)) as a:
        a[...] = 1
    with swath.open_file(path, mode="r+") as f:
        f.create("by_file", (3,), "f4", dimensions=("x",))[...] = 2
    xr.Dataset({"by_xarray": ("x", np.full(3, 3.0))}).swath.to_file(path, mode="a")
    DATA_SET.rename(t="copied").to_netcdf(tmp_path / "b.nc")
    swath.copy(tmp_path / "b.nc", path, variable="copied")
    with netCDF4.Dataset(path) as file:
        assert file.data_model == model
        assert set(file.variables) == {"t", "created", "by_file", "by_xarray", "copied"}
        np.testing.assert_array_equal(file["copied"][:], np.arange(3))
    assert sorted(os.listdir(tmp_path)) == ["a.nc", "b.nc"]
