"""`to_file(append_dim=)`: other engines read the appended data sets, in files of every format that grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from xarray_cases import xr

dask_array = pytest.importorskip("dask.array")
pytest.importorskip("h5py")
pytest.importorskip("zarr")
pytest.importorskip("netCDF4")
pytest.importorskip("h5netcdf")

import swath.xarray  # noqa: E402 - registers `ds.swath`
from swath.xarray import SwathBackendEntrypoint as Engine  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

FORMATS = {
    "netcdf-classic:cdf1": ("a.nc", "scipy"),
    "netcdf-classic": ("a.nc", "netcdf4"),
    "netcdf4": ("a.nc4", "netcdf4"),
    "hdf5": ("a.h5", "h5netcdf"),
    "zarr": ("a.zarr", "zarr"),
    "zarr:v2": ("a.zarr", "zarr"),
}


def days(first: int, count: int, seed: int = 0) -> Any:
    """Return a few days of a model: packed numbers, floats, times, text, and variables that are not along time."""
    values = np.random.default_rng(first + seed).integers(0, 90, (count, 3, 4))
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), values / 4, {"units": "K"}, {"dtype": "i2", "scale_factor": 0.25}),
            "u": (("time", "x"), values[:, 0].astype("f4"), {"units": "m s-1"}, {"_FillValue": np.float32(-1)}),
            "mask": (("y", "x"), (values[0] > 3).astype("i4")),
            "station": ("time", np.array([f"s{i}" if i else "first" for i in range(first, first + count)])),
        },
        {
            "time": (
                "time",
                np.datetime64("2001-01-01", "ns") + np.arange(first, first + count) * np.timedelta64(1, "D"),
            ),
            "y": ("y", [10.0, 20.0, 30.0]),
        },
        {"title": "days"},
    )


def chunked(data_set: Any, rows: int) -> Any:
    return data_set.chunk({"time": rows, "x": 3})


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_appended_is_what_other_engines_read(tmp_path: Path, kind: str) -> None:
    name, engine = FORMATS[kind]
    path = tmp_path / name
    parts = [days(0, 4), chunked(days(4, 5), 2), days(9, 1), chunked(days(10, 7), 7)]
    for part in parts:
        part.swath.to_file(path, format=kind, append_dim="time")
    expected = xr.concat(parts, "time", data_vars="minimal", compat="override", join="override", coords="minimal")
    expected["mask"] = parts[-1]["mask"]
    for reader in (engine, Engine):
        with xr.open_dataset(path, engine=reader) as found:
            xr.testing.assert_identical(found.load(), expected.load())
            assert found.t.encoding["dtype"] == np.dtype("i2")
            if kind.startswith("netcdf"):
                assert found.encoding["unlimited_dims"] == {"time"}
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("suffix", [".nc4", ".zarr"])
def test_rows_are_appended_into_coded_chunks_that_are_half_full(tmp_path: Path, suffix: str) -> None:
    words = (
        {"chunks": (3, 2, 4), "compressors": ["zstd"]} if suffix == ".zarr" else {"chunksizes": (3, 2, 4), "zlib": 1}
    )
    path = tmp_path / f"a{suffix}"
    parts = [days(0, 4), chunked(days(4, 3), 1), chunked(days(7, 6), 4)]
    for number, part in enumerate(parts):
        encoding = {"t": {"dtype": "i2", "scale_factor": 0.25, **words}} if number == 0 else None
        part[["t"]].swath.to_file(path, append_dim="time", encoding=encoding, memory=120)
    with xr.open_dataset(path, engine="zarr" if suffix == ".zarr" else "netcdf4") as found:
        np.testing.assert_array_equal(found.t, np.concatenate([part.t for part in parts]))
        assert tuple(found.t.encoding["chunks" if suffix == ".zarr" else "chunksizes"]) == (3, 2, 4)


def broken_units() -> Any:
    data_set = days(4, 2)
    data_set["u"].attrs["units"] = "km h-1"
    return data_set


REFUSED: dict[str, tuple[Any, str]] = {
    "another length": (lambda: days(4, 2).isel(x=slice(0, 3)), "has 4 elements along x, and what is appended has 3"),
    "another order": (lambda: days(4, 2).transpose("time", "x", "y"), "has the dimensions time, y, x, and what"),
    "other units": (broken_units, "u has units m s-1, and these values have units km h-1"),
    "another coordinate": (lambda: days(4, 2).assign_coords(y=[1.0, 2, 3]), "the coordinate y has other values"),
    "another type": (lambda: days(4, 2).assign(u=(("time", "x"), np.full((2, 4), 1j))), "u is .*complex128"),
    "a variable left out": (lambda: days(4, 2).drop_vars("u"), "has u along it, too, which the data set lacks"),
    "a new variable": (lambda: days(4, 2).assign(w=("time", [1, 2])), "has no variable w, whose first rows"),
    "no such dimension": (lambda: days(4, 2).isel(time=0, drop=True), "append_dim='time': the data set has no such"),
    "not the first": (lambda: days(4, 2).transpose("y", "x", "time"), "it is not the first dimension of t"),
    "values that do not fit": (lambda: days(4, 2).assign(t=days(4, 2).t + 1e6), "t is packed as"),
    "longer text": (
        lambda: days(4, 2).assign(station=("time", ["a", "very long"])),
        "station (holds texts of|is [<|])",
    ),
    "no rows along it": (lambda: days(4, 2)[["mask"]].assign_coords(z=("time", [1, 2])), "has no variable z|lacks"),
}


@pytest.mark.parametrize("name", ["a.nc3", "a.nc4", "a.zarr"])
@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_on_with_the_file_is_refused_and_nothing_is_appended(
    tmp_path: Path, name: str, what: str
) -> None:
    make, message = REFUSED[what]
    days(0, 4).swath.to_file(tmp_path / name, append_dim="time")
    with pytest.raises(swath.ArgumentError, match=message):
        make().swath.to_file(tmp_path / name, append_dim="time")
    with xr.open_dataset(tmp_path / name, engine="zarr" if name.endswith("zarr") else "netcdf4") as found:
        xr.testing.assert_identical(found.load(), days(0, 4))


@pytest.mark.parametrize("name", ["a.nc3", "a.nc4", "a.h5", "a.zarr"])
def test_an_append_that_fails_leaves_the_rows_that_were_there(tmp_path: Path, name: str) -> None:
    def fail(block: Any) -> Any:
        raise RuntimeError("no such block")

    path = tmp_path / name
    days(0, 4).swath.to_file(path, append_dim="time")
    more = days(4, 6)
    more["u"] = more.u.chunk({"time": 2})
    more["u"].data = dask_array.concatenate([more.u.data[:4], more.u.data[4:].map_blocks(fail, dtype="f4")])
    with pytest.raises(RuntimeError, match="no such block"):
        more.swath.to_file(path, append_dim="time", memory=200)
    with xr.open_dataset(path, engine=Engine) as found:
        xr.testing.assert_identical(found.drop_vars("mask").load(), days(0, 4).drop_vars("mask"))
    days(4, 3).swath.to_file(path, append_dim="time")
    with xr.open_dataset(path, engine="zarr" if name.endswith("zarr") else "netcdf4") as found:
        np.testing.assert_array_equal(found.t, np.concatenate([days(0, 4).t, days(4, 3).t]))


def test_a_store_of_zarrs_own_is_appended_to_as_to_zarr_does(tmp_path: Path) -> None:
    first, second = days(0, 4).drop_vars("station"), days(4, 2).drop_vars("station")
    first.to_zarr(tmp_path / "a.zarr")
    first.to_zarr(tmp_path / "b.zarr")
    second.swath.to_file(tmp_path / "a.zarr", append_dim="time")
    second.to_zarr(tmp_path / "b.zarr", append_dim="time")
    with xr.open_zarr(tmp_path / "a.zarr") as found, xr.open_zarr(tmp_path / "b.zarr") as expected:
        xr.testing.assert_identical(found.load(), expected.load())


def test_groups_of_a_tree_are_appended_together(tmp_path: Path) -> None:
    def tree(first: int, count: int) -> Any:
        fine = days(first, count)
        return xr.DataTree.from_dict({"/": xr.Dataset(attrs={"a": 1}), "/fine": fine, "/coarse": fine.isel(x=[0, 1])})

    for name, engine in (("a.nc4", "netcdf4"), ("a.zarr", "zarr")):
        for first, count in ((0, 2), (2, 3)):
            tree(first, count).swath.to_file(tmp_path / name, append_dim="time")
        with xr.open_datatree(tmp_path / name, engine=engine) as found:
            for group in ("fine", "coarse"):
                expected = np.concatenate([tree(0, 2)[group].u, tree(2, 3)[group].u])
                np.testing.assert_array_equal(found[group].u, expected)


def test_a_mode_that_does_not_append_and_a_fixed_dimension_are_refused(tmp_path: Path) -> None:
    for mode in ("w", "w-"):
        with pytest.raises(swath.ArgumentError, match=f"append_dim= goes with mode=\"a\".*not with mode='{mode}'"):
            days(0, 2).swath.to_file(tmp_path / "a.nc4", append_dim="time", mode=mode)
    assert not os.listdir(tmp_path)
    for name in ("a.nc3", "a.nc4"):
        days(0, 2).swath.to_file(tmp_path / name)
        with pytest.raises(swath.ArgumentError, match=r"its shape .* is fixed"):
            days(2, 2).swath.to_file(tmp_path / name, append_dim="time")
