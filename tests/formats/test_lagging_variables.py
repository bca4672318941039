"""Variables whose datasets are shorter than their unlimited dimension, and new variables along it, as in netCDF."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import swath
import swath.xarray
from swath import _core
from swath.simulated import run_ranks

SUFFIXES = ("nc3", "nc4", "h5", "zarr")


def lagging(path: Path, chunks: tuple[int, int] = (1, 3), **given: Any) -> None:
    """Make variables along time, which has 6 rows: `a` has all of them, `b` the first 2, `c` none."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.createVariable("a", "f4", ("time", "x"))[:6] = 1
        file.createVariable("b", "f4", ("time", "x"), fill_value=-5, chunksizes=chunks, **given)[:2] = 2
        file.createVariable("c", "f4", ("time", "x"))


def by_netcdf(path: Path, name: str) -> list[float]:
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return file[name][:, 0].tolist()


@pytest.mark.parametrize("chunks", [(1, 3), (4, 3), (8, 3), (1024, 3)])
@pytest.mark.parametrize("given", [{}, {"zlib": True}])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_row_that_a_lagging_variable_has_no_room_for_is_there_for_netcdf(
    tmp_path: Path, chunks: tuple[int, int], given: dict[str, Any], ranks: int
) -> None:
    """The row may lie in a chunk of the file: the variable is then shorter than its chunk."""
    path = tmp_path / "a.nc4"
    lagging(path, chunks, **given)

    def write(comm: Any) -> list[float]:
        d = swath.Distribution((swath.Whole(), swath.Block()), grid=(1, comm.size))
        with swath.open_file(path, mode="r+", comm=comm) as file:
            values = np.full(d.local_shape((1, 3), comm.rank), 9, "f4")
            file["b"].write(values, d, selection=np.s_[4:5, :])
            return file["b"][:, 0].tolist()

    assert run_ranks(ranks, write) == [[2, 2, -5, -5, 9, -5]] * ranks
    assert by_netcdf(path, "b") == [2, 2, -5, -5, 9, -5]
    with h5py.File(path) as file:
        assert file["b"][:, 2].tolist() == [2, 2, -5, -5, 9, -5]


@pytest.mark.parametrize("chunks", [(1, 3), (2, 3), (4, 3), (1, 2)])
@pytest.mark.parametrize("given", [{}, {"zlib": True}, {"fletcher32": True}])
@pytest.mark.parametrize("ranks", [1, 3])
def test_rows_between_a_lagging_variable_and_what_is_appended_are_the_fill_value(
    tmp_path: Path, chunks: tuple[int, int], given: dict[str, Any], ranks: int
) -> None:
    path = tmp_path / "a.nc4"
    lagging(path, chunks, **given)

    def append(comm: Any) -> list[float]:
        d = swath.Distribution((swath.Block(),), grid=(comm.size,))
        with swath.open_file(path, mode="r+", comm=comm) as file:
            assert file["b"].shape == (6, 3)
            file["b"].append(np.full(d.local_shape((3,), comm.rank), 9, "f4"), d)
            file.sync()
            return file["b"][:, 0].tolist()

    assert run_ranks(ranks, append) == [[2, 2, -5, -5, -5, -5, 9]] * ranks
    assert by_netcdf(path, "b") == [2, 2, -5, -5, -5, -5, 9]
    with h5py.File(path) as file:
        assert file["b"][:, 2].tolist() == [2, 2, -5, -5, -5, -5, 9]


@pytest.mark.parametrize("given", [{}, {"zlib": True}])
def test_a_row_of_a_lagging_variable_is_written_and_those_around_it_stay_the_fill_value(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    path = tmp_path / "a.nc4"
    lagging(path, (4, 3), **given)
    with swath.open(path, "b", mode="r+") as b:
        b[3] = 7
        assert b[:, 1].tolist() == [2, 2, -5, 7, -5, -5]
    assert by_netcdf(path, "b") == [2, 2, -5, 7, -5, -5]


def test_what_is_never_filled_reads_as_netcdf_reads_it_behind_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createVariable("a", "i4", ("time",))[:6] = 1
        file.createVariable("b", "i4", ("time",), fill_value=False, chunksizes=(4,))[:2] = 2
    expected = [2, 2, *[netCDF4.default_fillvals["i4"]] * 4]
    assert swath.open(path, "b")[...].tolist() == expected
    with swath.open(path, "b", mode="r+") as b:
        b.append(9)
    assert swath.open(path, "b")[...].tolist() == [*expected, 9]
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        assert file["b"][...].tolist() == [*expected, 9]


def test_xarray_opens_lagging_variables_and_copies_of_them_have_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    lagging(path)
    with xr.open_dataset(path, engine="netcdf4") as expected, xr.open_dataset(path, engine="swath") as found:
        xr.testing.assert_identical(found.load(), expected.load())
        for suffix in SUFFIXES:
            target = tmp_path / f"copy.{suffix}"
            swath.copy(path, target)
            assert swath.verify(path, target)
            engine = {"nc3": "netcdf4", "nc4": "netcdf4", "h5": "h5netcdf", "zarr": "zarr"}[suffix]
            with xr.open_dataset(target, engine=engine) as copied:
                xr.testing.assert_equal(copied.load(), expected)


def test_an_iteration_goes_over_all_rows_of_a_lagging_variable(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    lagging(path)

    def rows(comm: Any) -> int:
        with swath.open(path, "b", comm=comm) as b:
            d = swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))
            part = b.read(d)
            assert set(np.unique(part)) <= {2, -5}
            return len(part)

    assert sum(run_ranks(5, rows)) == 6


def test_a_dataset_without_dimension_scales_has_its_own_length(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=np.ones(6), maxshape=(None,))
        file.create_dataset("b", data=np.ones(2), maxshape=(None,))
    with swath.open_file(tmp_path / "a.h5") as file:
        assert {name: array.shape for name, array in file.items()} == {"a": (6,), "b": (2,)}


def records(path: Path, count: int = 5) -> None:
    with swath.create_file(path) as file:
        file.create("t", (None, 2), "f4", dimensions=("time", "x")).append(np.zeros((count, 2), "f4"))


WAYS: dict[str, Callable[[swath.File, tuple[int | None, ...]], swath.Array]] = {
    "of a length that is not given": lambda file, shape: file.create(
        "u", (None, *shape[1:]), "f4", dimensions=("time", "x"), fill=-1
    ),
    "of the length of the dimension": lambda file, shape: file.create(
        "u", shape, "f4", dimensions=("time", "x"), fill=-1
    ),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_reopened", [True, False])
def test_a_new_variable_along_records_has_them_at_once_and_keeps_what_is_written(
    tmp_path: Path, suffix: str, way: str, is_reopened: bool
) -> None:
    path = tmp_path / f"a.{suffix}"
    values = np.arange(10, dtype="f4").reshape(5, 2)
    if is_reopened:
        records(path)
    with swath.open_file(path, mode="r+") if is_reopened else swath.create_file(path) as file:
        if not is_reopened:
            file.create("t", (None, 2), "f4", dimensions=("time", "x")).append(np.zeros((5, 2), "f4"))
        u = WAYS[way](file, (5, 2))
        assert u.shape == (5, 2)
        assert (u[...] == -1).all()
        u[1:] = values[1:]
        file.create("w", (3,), "f4", dimensions=("z",))
        assert u.shape == (5, 2)
        u[0] = values[0]
        file["t"].append([1.0, 1.0])
    with swath.open_file(path) as file:
        np.testing.assert_array_equal(file["u"][...], [*values, [-1, -1]])
        assert file.contents.variables["u"].shape == (6, 2)
    engine = {"nc3": "netcdf4", "nc4": "netcdf4", "h5": "h5netcdf", "zarr": "zarr"}[suffix]
    with xr.open_dataset(path, engine=engine, decode_cf=False) as found:
        np.testing.assert_array_equal(found["u"].values, [*values, [-1, -1]])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ranks", [1, 3])
def test_append_to_a_new_variable_goes_on_with_the_records_that_are_not_synced(
    tmp_path: Path, suffix: str, ranks: int
) -> None:
    path = tmp_path / f"a.{suffix}"
    records(path)

    def append(comm: Any) -> None:
        d = swath.Distribution((swath.Block(),), grid=(comm.size,))
        row = np.full(d.local_shape((2,), comm.rank), 8, "f4")
        with swath.open_file(path, mode="r+", comm=comm) as file:
            file["t"].append(row, d)
            u = file.create("u", (None, 2), "f4", dimensions=("time", "x"), fill=-1)
            u.append(row, d)
            file["t"].append(row, d)
            u.append(row, d)

    run_ranks(ranks, append)
    with swath.open_file(path) as file:
        assert file["t"][:, 1].tolist() == [0] * 5 + [8, 8]
        assert file["u"][:, 1].tolist() == [-1] * 5 + [8, 8]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_swath_create_adds_a_variable_along_records_whose_values_stay(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    records(path)
    with swath.create(path, (None, 2), "f4", variable="q", dimensions=("time", "x"), fill=-1) as q:
        assert q.shape == (5, 2)
        q[...] = 3
    assert (swath.open(path, "q")[...] == 3).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_to_file_adds_variables_along_records_with_all_their_values(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    first = xr.Dataset({"t": (("time", "x"), np.arange(10.0).reshape(5, 2))})
    first.swath.to_file(path, unlimited_dims=["time"])
    more = xr.Dataset({"u": first.t + 100, "v": ("time", np.arange(5.0))})
    more.swath.to_file(path, mode="a")
    with xr.open_dataset(path, engine="swath") as found:
        xr.testing.assert_identical(found.load(), first.merge(more))
        assert found.encoding["unlimited_dims"] == {"time"}
    with pytest.raises(swath.ArgumentError, match="time"):
        xr.Dataset({"w": ("time", np.arange(3.0))}).swath.to_file(path, mode="a")
    with swath.open_file(path) as file:
        assert set(file) == {"t", "u", "v"}


def test_a_file_of_many_variables_is_surveyed_once(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        for number in range(20):
            file.createVariable(f"v{number}", "f4", ("time", "x")[number % 2 :])[...] = number
    time.sleep(0.2)  # a file that was changed just now may change again without a new time
    before = _core.hdf5_surveys()
    for number in range(20):
        assert swath.open(path, f"v{number}").dimensions == ("time", "x")[number % 2 :]
    assert _core.hdf5_surveys() == before + 1
    with swath.open_file(path, mode="r+") as file:
        file["v0"].append(np.zeros(3, "f4"))
    assert swath.open(path, "v2").shape[0] == swath.open(path, "v0").shape[0]


def test_variables_that_swath_does_not_write_grow_with_their_dimension(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createVariable("a", "f4", ("time",))[:3] = 1
        file.createVariable("text", str, ("time",))[0] = "one"
        ragged = file.createVLType(np.int32, "several")
        file.createVariable("ragged", ragged, ("time",))[0] = np.array([1, 2], "i4")
    with swath.open_file(path, mode="r+") as file:
        file["a"].append(9.0)
    with netCDF4.Dataset(path) as file:
        assert file["a"][:].tolist() == [1, 1, 1, 9]
        assert file["text"][:].tolist() == ["one", "", "", ""]
        assert [one.tolist() for one in file["ragged"][:]] == [[1, 2], [], [], []]


def test_texts_of_a_zarr_store_grow_with_their_dimension(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    group.create_array("a", shape=(2,), chunks=(1,), dtype="f4").attrs["_ARRAY_DIMENSIONS"] = ["time"]
    text = group.create_array("text", shape=(2,), chunks=(1,), dtype=str)
    text.attrs["_ARRAY_DIMENSIONS"] = ["time"]
    text[:] = np.array(["x", "y"])
    with swath.open_file(tmp_path / "a.zarr", mode="r+") as file:
        file["a"].append(9.0)
    group = zarr.open_group(tmp_path / "a.zarr")
    assert group["a"][:].tolist() == [0, 0, 9]
    assert group["text"][:].tolist() == ["x", "y", ""]


@pytest.mark.parametrize("suffix", ["nc4", "h5", "zarr"])
def test_a_new_variable_may_have_an_unlimited_dimension_that_is_not_its_first(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    records(path)
    with swath.open_file(path, mode="r+") as file:
        u = file.create("u", (3, 5), "f4", dimensions=("y", "time"), fill=-1)
        u[1] = 4
        file["t"].append([1.0, 1.0])
        file.sync()
        assert u.shape == (3, 6)
        file.attributes["title"] = "it is not taken for changed by others"
    with swath.open_file(path) as file:
        assert file["u"][...].tolist() == [[-1] * 6, [4] * 5 + [-1], [-1] * 6]
