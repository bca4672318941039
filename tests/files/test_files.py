"""Files with many arrays: new arrays are read back, in every format, on any number of ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
import swath.formats
from swath.simulated import run_ranks

FORMATS = ("netcdf-classic", "netcdf-classic:cdf1", "netcdf-classic:cdf2", "netcdf4", "hdf5", "zarr", "zarr:v2")
MAIN = ("netcdf-classic", "netcdf4", "hdf5", "zarr", "zarr:v2")
DTYPES = ("i2", "i4", "f4", "f8", "i1")


def rows(ndim: int, ranks: int) -> swath.Distribution:
    """Return blocks along the last dimension, which are not contiguous in any file."""
    return swath.Distribution((*[swath.Whole()] * (ndim - 1), swath.Block()), grid=(*[1] * (ndim - 1), ranks))


def share(values: np.ndarray, comm: Any, d: swath.Distribution) -> np.ndarray:
    return values[np.ix_(*d.indices(values.shape, comm.rank))]


class Case:
    """A random file: dimensions, one of which may grow, and variables along some of them."""

    def __init__(self, seed: int, kind: str) -> None:
        random = np.random.default_rng(seed)
        self.kind = kind
        self.lengths = {f"d{i}": int(random.integers(1, 9)) for i in range(4)}
        self.records = int(random.integers(0, 5))
        self.fixed: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
        self.growing: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
        for number in range(int(random.integers(1, 7))):
            group = "" if kind.startswith("netcdf-classic") else ("", "g/", "g/h/")[int(random.integers(3))]
            names = tuple(random.permutation(list(self.lengths))[: int(random.integers(1, 4))])
            dtype = np.dtype(DTYPES[int(random.integers(len(DTYPES)))])
            grows = random.random() < 0.4
            shape = tuple(self.lengths[n] for n in names)
            full = (self.records, *shape) if grows else shape
            values = random.integers(-100, 100, full).astype(dtype)
            (self.growing if grows else self.fixed)[f"{group}v{number}"] = (names, values)

    def create(self, path: Path, comm: Any) -> None:
        with swath.create_file(path, format=self.kind, comm=comm, attributes={"title": "a case"}) as f:
            for name, (dimensions, values) in self.fixed.items():
                a = f.create(name, values.shape, values.dtype, dimensions=dimensions, attributes={"units": "K"}, fill=7)
                d = rows(values.ndim, comm.size)
                a.write(share(values, comm, d), d)
            for name, (dimensions, values) in self.growing.items():
                f.create(name, (None, *values.shape[1:]), values.dtype, dimensions=("time", *dimensions))
            for row in range(self.records):
                for name, (_, values) in self.growing.items():
                    d = rows(values.ndim - 1, comm.size)
                    f[name].append(share(values[row], comm, d), d)

    def check(self, path: Path, comm: Any) -> None:
        with swath.open_file(path, comm=comm) as f:
            assert set(f) == {*self.fixed, *self.growing}
            assert f.attributes["title"] == "a case"
            for name, (dimensions, values) in {**self.fixed, **self.growing}.items():
                a = f[name]
                assert f[name] is a
                assert a.shape == values.shape
                grows = name in self.growing
                assert f.contents.variables[name].dimensions == (("time",) if grows else ()) + dimensions
                d = rows(values.ndim, comm.size)
                np.testing.assert_array_equal(a.read(d), share(values, comm, d))
                np.testing.assert_array_equal(a[...], values)
            for name in self.fixed:
                assert f[name].attributes["units"] == "K"
                assert f[name].attributes["_FillValue"] == 7


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_created_is_read_again_by_other_ranks(tmp_path: Path, kind: str, seed: int) -> None:
    path = tmp_path / "a.file"
    case = Case(seed, kind)
    run_ranks(1 + seed, lambda comm: case.create(path, comm))
    run_ranks(4 - seed, lambda comm: case.check(path, comm))
    assert os.listdir(tmp_path) == ["a.file"]


def fail_after(opened: swath.File) -> None:
    with opened as f:
        f.create("y", (3,), "f4", dimensions=("a",))[...] = 4
        raise KeyError("mistake")


@pytest.mark.parametrize("kind", MAIN)
def test_a_file_has_its_name_when_it_is_closed_and_not_before(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"
    with swath.create_file(path, format=kind) as f:
        f.create("x", (3,), "f4")[...] = [1, 2, 3]
        assert not path.exists()
    with swath.open_file(path) as f:
        np.testing.assert_array_equal(f["x"][...], [1, 2, 3])
    with pytest.raises(swath.ExistsError):
        swath.create_file(path, format=kind)
    with pytest.raises(KeyError, match="mistake"):
        fail_after(swath.create_file(path, format=kind, overwrite=True))
    with swath.open_file(path) as f:
        assert list(f) == ["x"]
    assert os.listdir(tmp_path) == ["a.file"]


@pytest.mark.parametrize("kind", MAIN)
def test_another_variable_joins_those_that_are_there(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"
    with swath.create(path, (4, 3), "i4", variable="x", format=kind, dimensions=("a", "b")) as a:
        a[...] = np.arange(12).reshape(4, 3)
    with pytest.raises(swath.ExistsError) as told:
        swath.create(path, (4, 3), "i4", variable="x", format=kind)
    assert "overwrite" not in str(told.value)
    with swath.create(path, (4,), "f8", variable="y", format=kind, dimensions=("a",), fill=-1) as a:
        a[1:3] = 5
    with swath.open_file(path, mode="r+") as f:
        z = f.create("z", (3, 4), "i2", dimensions=("b", "a"))
        z[...] = 9
        f.attributes["history"] = "three of them"
    with swath.open_file(path) as f:
        assert sorted(f) == ["x", "y", "z"]
        np.testing.assert_array_equal(f["x"][...], np.arange(12).reshape(4, 3))
        np.testing.assert_array_equal(f["y"][...], [-1, 5, 5, -1])
        np.testing.assert_array_equal(f["z"][...], np.full((3, 4), 9))
        assert f.attributes["history"] == "three of them"
        assert f.dimensions["a"].length == 4


@pytest.mark.parametrize("kind", MAIN)
def test_an_error_takes_back_what_was_added(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"
    with swath.create_file(path, format=kind) as f:
        f.create("x", (3,), "f4", dimensions=("a",))[...] = [1, 2, 3]
    with pytest.raises(KeyError, match="mistake"):
        fail_after(swath.open_file(path, mode="r+"))
    with swath.open_file(path) as f:
        assert list(f) == ["x"]
        np.testing.assert_array_equal(f["x"][...], [1, 2, 3])
    with swath.open_file(path, mode="r+") as f:
        with pytest.raises(swath.ArgumentError, match=r"3.*4|4.*3"):
            f.create("y", (4,), "f4", dimensions=("a",))
        with pytest.raises(swath.ExistsError):
            f.create("x", (3,), "f4", dimensions=("a",))
        f.create("y", (3,), "f4", dimensions=("a",))[...] = 4
    with swath.open_file(path) as f:
        np.testing.assert_array_equal(f["y"][...], [4, 4, 4])


@pytest.mark.parametrize("kind", MAIN)
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_dimension_grows_when_all_along_it_have_written(tmp_path: Path, kind: str, ranks: int) -> None:
    path = tmp_path / "a.file"

    def work(comm: Any) -> None:
        d = rows(1, comm.size)
        record = np.arange(5, dtype="f8")
        with swath.create_file(path, format=kind, comm=comm) as f:
            time = f.create("time", (None,), "f8", dimensions=("time",))
            t = f.create("t", (None, 5), "f8", dimensions=("time", "x"), fill=-9)
            time.append(0.0)
            t.append(share(record, comm, d), d)
            assert not path.exists()
            f.sync()
            assert seen(comm) == (1, 1)
            time.append(1.0)
            assert time.shape == (2,)
            # A dataset of HDF5 is as long as what it holds, and its dimension as the longest: readers see a row more.
            assert seen(comm) == ((2, 2) if kind in ("hdf5", "netcdf4") else (1, 1))
            t.append(share(record + 1, comm, d), d)
            assert seen(comm) == (2, 2)
            time.append(2.0)
            f.sync()
            assert seen(comm) == (3, 3)
            t.append(share(record + 3, comm, d), d)
            np.testing.assert_array_equal(t[...], [record, record + 1, np.full(5, -9), record + 3])
        with swath.open_file(path, comm=comm) as f:
            assert f["t"].shape == (4, 5)
            assert f["time"].shape == (4,)
            np.testing.assert_array_equal(f["time"][:3], [0, 1, 2])
            np.testing.assert_array_equal(f["t"][2:], [np.full(5, -9), record + 3])

    def seen(comm: Any) -> tuple[int, int]:
        """Return the rows of both variables that another reader finds, while all ranks wait."""
        comm.allgather(b"")
        with swath.open_file(path) as f:
            found = f["time"].shape[0], f["t"].shape[0]
        comm.allgather(b"")
        return found

    run_ranks(ranks, work)


@pytest.mark.parametrize("kind", MAIN)
def test_a_variable_may_be_many_records_ahead(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"
    with swath.create_file(path, format=kind) as f:
        time = f.create("time", (None,), "f8", dimensions=("time",))
        t = f.create("t", (None, 2), "i4", dimensions=("time", "x"), fill=-1)
        time.append(np.arange(5.0))
        for row in range(3):
            t.append([row, row])
        f.sync()
        t.append(np.full((2, 2), 9, "i4"))
        f.create("u", (None,), "i2", dimensions=("time",), fill=7).append(3)  # the record that t has appended first
    with swath.open_file(path, mode="r+") as f:
        np.testing.assert_array_equal(f["time"][:5], np.arange(5))
        np.testing.assert_array_equal(f["t"][:, 0], [0, 1, 2, -1, -1, 9, 9])
        np.testing.assert_array_equal(f["u"][...], [7, 7, 7, 7, 7, 3, 7])
        f["t"].append([4, 4])
    with swath.open_file(path) as f:
        assert [f[name].shape[0] for name in ("time", "t", "u")] == [8, 8, 8]
        assert f["u"][7] == 7


KILLED = """
import os, sys
import numpy as np, swath
f = swath.open_file(sys.argv[1], mode="r+")
for row in range(5):
    f["t"].append(np.full(1000, row, "f8"))
f.attributes["history"] = "begun"
if "classic" not in sys.argv[2]:  # there the data must move for it: it is in the file from then on
    f.create("u", (3,), "f4", dimensions=("z",))[...] = 1
os._exit(9)
"""


@pytest.mark.parametrize("kind", MAIN)
def test_what_was_added_goes_with_a_kill_and_the_records_before_it_stay(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"
    with swath.create_file(path, format=kind) as f:
        f.create("t", (None, 1000), "f8", dimensions=("time", "x"))
    subprocess.run([sys.executable, "-c", KILLED, str(path), kind], check=False)
    with swath.open_file(path) as f:
        assert (list(f), "history" in f.attributes) == (["t"], False)
        assert f["t"].shape == (5, 1000)
        np.testing.assert_array_equal(f["t"][:, 999], np.arange(5))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(10, 13))
def test_what_a_file_says_that_it_holds_is_what_is_in_it(tmp_path: Path, kind: str, seed: int) -> None:
    path = tmp_path / "a.file"
    case = Case(seed, kind)

    def check(told: swath.formats.Contents) -> None:
        found = swath.formats.contents(path)
        assert told.format == found.format
        assert {n: g.dimensions for n, g in told.groups.items()} == {n: g.dimensions for n, g in found.groups.items()}
        assert set(told.variables) == set(found.variables)
        for name, variable in found.variables.items():
            of = told.variables[name]
            assert (of.shape, of.dtype, of.dimensions) == (variable.shape, variable.dtype, variable.dimensions), name
            assert dict(of.attributes) == dict(variable.attributes), name

    case.create(path, run_alone())
    with swath.open_file(path, mode="r+") as f:
        for name, (dimensions, values) in case.fixed.items():
            f.create(
                f"more/{name}" if "classic" not in kind else f"more_{name}", values.shape, "f4", dimensions=dimensions
            )
        f.attributes["history"] = "more"
        for name, (_, values) in case.growing.items():
            f[name].append(np.zeros(values.shape[1:], values.dtype))
        f.sync()
        check(f.contents)
    check(swath.open_file(path).contents)


def run_alone() -> Any:
    return swath._core.solo_comm()


@pytest.mark.parametrize("kind", MAIN)
def test_arrays_that_others_made_grow_too(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"
    made_by_others(path, kind)
    with swath.open_file(path, mode="r+") as f:
        f["t"].append(np.full(3, 2.0))
        f["t"].append(np.full((2, 3), 3.0))
    np.testing.assert_array_equal(swath.open(path, "t")[:, 0], [1, 1, 2, 3, 3])


def made_by_others(path: Path, kind: str) -> None:
    values = np.ones((2, 3))
    if kind.startswith("zarr"):
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(str(path), mode="w", zarr_format=2 if kind == "zarr:v2" else 3)
        group.create_array("t", shape=(2, 3), chunks=(1, 3), dtype="f8")[...] = values
    elif kind == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file.create_dataset("t", data=values, maxshape=(None, 3))
    else:
        netcdf4 = pytest.importorskip("netCDF4")
        with netcdf4.Dataset(path, "w", format="NETCDF4" if kind == "netcdf4" else "NETCDF3_64BIT_DATA") as dataset:
            dataset.createDimension("time", None)
            dataset.createDimension("x", 3)
            dataset.createVariable("t", "f8", ("time", "x"))[:2] = values


@pytest.mark.parametrize("kind", MAIN)
def test_threads_take_the_same_array_from_a_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"
    with swath.create_file(path, format=kind) as f:
        for number in range(8):
            f.create(f"v{number}", (50,), "i4", dimensions=("x",))[...] = number
    for _ in range(10):
        with swath.open_file(path) as f, ThreadPoolExecutor(8) as pool:
            taken = list(pool.map(lambda task: (task % 8, f[f"v{task % 8}"], f[f"v{task % 8}"][...]), range(64)))
            for number, array, values in taken:
                assert array is f[f"v{number}"]
                np.testing.assert_array_equal(values, np.full(50, number))


@pytest.mark.parametrize("kind", MAIN)
def test_ranks_that_append_different_numbers_hear_of_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.file"

    def work(comm: Any) -> None:
        whole = swath.Distribution((swath.Whole(), swath.Block()), grid=(1, comm.size))
        with swath.create_file(path, format=kind, comm=comm) as f:
            t = f.create("t", (None, 4), "f8", dimensions=("time", "x"))
            t.append(np.ones((2, 2)), whole, records=2)
            with pytest.raises(swath.DisagreementError):
                t.append(np.ones((2 + comm.rank, 2)), whole, records=2 + comm.rank)
            with pytest.raises(swath.ArgumentError):
                t.append(np.ones((1, 3)), whole, records=1)
            assert t.shape == (2, 4)
            t.append(np.full((1, 2), 2.0), whole, records=1)
        with swath.open_file(path, comm=comm) as f:
            np.testing.assert_array_equal(f["t"][...], [[1] * 4, [1] * 4, [2] * 4])

    run_ranks(2, work)


@pytest.mark.parametrize("name", ["a.nc3", "a.nc4", "a.zarr"])
def test_several_arrays_are_looked_up_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with swath.create_file(tmp_path / name) as f:
        for number in range(3):
            f.create(f"v{number}", (4,), "i4", dimensions=("x",))[...] = number
    looked: list[Any] = []
    original = swath.formats.describe_many
    monkeypatch.setattr(swath.formats, "describe_many", lambda *a: (looked.append(a), original(*a))[1])
    with swath.open_file(tmp_path / name) as f:
        v1 = f["v1"]
        arrays = f.many(["v2", "/v1", "v0", "v2"])
        assert [int(array[0]) for array in arrays] == [2, 1, 0, 2]
        assert arrays[1] is v1
        assert f.many(["v0"])[0] is f["v0"]
        assert len(looked) == 1
        with pytest.raises(swath.ArgumentError, match="nothing"):
            f.many(["nothing"])


@pytest.mark.parametrize("kind", MAIN)
@pytest.mark.parametrize("ranks", [1, 3])
def test_an_array_that_is_closed_before_its_file_is_filled_and_lets_others_be_added(
    tmp_path: Path, kind: str, ranks: int
) -> None:
    path = tmp_path / "a"

    def work(comm: Any) -> None:
        with swath.create_file(path, format=kind, comm=comm) as f:
            f.create("never", (5,), "f4", dimensions=("x",), fill=7).close()
            f.create("other", (5,), "f4", dimensions=("x",), fill=8).close()
        with swath.open_file(path, mode="r+", comm=comm) as f:
            f["other"].close()
            f.create("later", (6,), "f4", dimensions=("y",), fill=9).close()
            f.create("last", (6,), "f4", dimensions=("y",), fill=10)

    run_ranks(ranks, work)
    with swath.open_file(path) as f:
        assert {name: set(a[...].tolist()) for name, a in f.items()} == {
            "never": {7.0},
            "other": {8.0},
            "later": {9.0},
            "last": {10.0},
        }


@pytest.mark.parametrize("kind", MAIN)
@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_added_and_never_written_is_filled_when_the_file_is_synced(
    tmp_path: Path, kind: str, ranks: int
) -> None:
    path = tmp_path / "a"

    def work(comm: Any) -> list[float]:
        swath.create_file(path, format=kind, comm=comm).close()
        with swath.open_file(path, mode="r+", comm=comm) as f:
            f.create("v", (5,), "f4", dimensions=("x",), fill=7)
            f.sync()
            seen: list[float] = swath.open(path, "v")[...].tolist()
        return seen

    assert run_ranks(ranks, work) == [[7.0] * 5] * ranks
    assert swath.open(path, "v")[...].tolist() == [7.0] * 5


def test_an_array_of_a_closed_file_is_refused_by_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with swath.create_file(path) as f:
        f.create("v", (5,), "f4", dimensions=("x",))
    f = swath.open_file(path)
    f.close()
    for ask in (lambda: f["v"], lambda: f.many(["v"])):
        with pytest.raises(swath.ArgumentError, match=r"open '?v'? of .*a\.nc: the file is closed"):
            ask()
