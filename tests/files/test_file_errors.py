"""Wrong memory, closed arrays, truncated and shrinking files: errors that name the place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from cases import METHODS
from real_file_cases import NEW, OLD, create_all, hdf5, same
from swath import Boxes, Cyclic, Distribution, Whole
from swath.formats import LibraryLayout
from swath.simulated import run_ranks

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")


def test_wrong_memory_is_refused_before_anything_moves(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", OLD)
    frozen = np.zeros((3, 4))
    frozen.flags.writeable = False
    folded = np.lib.stride_tricks.as_strided(np.zeros(4), (3, 4), (0, 8))
    box = Boxes([((0, 0), (1, 2)), ((1, 0), (3, 4))])
    with swath.open(tmp_path / "a.npy", mode="r+") as a:
        for arguments, options, message in (
            ((), {"out": np.zeros((4, 3))}, r"out: shape \(4, 3\), but this rank's share has shape \(3, 4\)"),
            ((), {"out": np.zeros((3, 4), "f4")}, "out: dtype float32, but the file holds float64; convert"),
            ((), {"out": [0.0] * 12}, "out: expected an ndarray, not list"),
            ((), {"out": frozen}, "out: the array is read-only"),
            ((), {"out": folded}, "several elements share one place"),
            ((box,), {"out": np.zeros((3, 4))}, "out: expected a list of 2 ndarrays, one a box; got not a list"),
            ((box,), {"out": [np.zeros((1, 2))]}, "out: expected a list of 2 ndarrays, one a box; got 1 of them"),
            ((box,), {"out": [np.zeros((1, 2)), np.zeros((3, 4))]}, r"out\[1\]: shape \(3, 4\), .* has shape \(2, 4\)"),
        ):
            with pytest.raises(swath.ArgumentError, match=message):
                a.read(*arguments, **options)
        for values, who, message in (
            (np.zeros((4, 3)), None, r"values: shape \(4, 3\), but this rank's share has shape \(3, 4\)"),
            (np.zeros((3, 4), "i4"), None, r"dtype int32, but the file holds float64; .*\('float64'\)"),
            ("text", None, r"values: shape \(\)"),
            (np.zeros((3, 4), object), None, "values: dtype object"),
            ([np.zeros((1, 2)), np.zeros((2, 3))], box, r"values\[1\]: shape \(2, 3\)"),
            (np.zeros((1, 2)), box, "expected a list of 2 ndarrays"),
        ):
            with pytest.raises(swath.ArgumentError, match=message):
                a.write(values, who)
        for method in ("fast", ""):
            with pytest.raises(swath.ArgumentError, match=f'method "{method}" is not known; expected "auto"'):
                a.read(method=method)
    with (
        swath.open(tmp_path / "a.npy") as a,
        pytest.raises(swath.ArgumentError, match=r'a\.npy: opened for reading; open it with mode="r\+"'),
    ):
        a.write(NEW)
    assert same(np.load(tmp_path / "a.npy"), OLD)


def test_a_closed_array_moves_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", OLD)
    a = swath.open(tmp_path / "a.npy", mode="r+")
    a.close()
    a.close()
    assert "closed" in repr(a)
    for use in (a.read, lambda: a.write(NEW), lambda: a[0], lambda: a.__setitem__(0, 1), a.sync):
        with pytest.raises(swath.ArgumentError, match=r"a\.npy: the (array|file) is closed"):
            use()
    assert same(np.load(tmp_path / "a.npy"), OLD)


def fails_alike(ranks: int, work: Callable[[Any], Any]) -> swath.Error:
    """Return the one error that every rank raises."""

    def catch(comm: Any) -> swath.Error:
        with pytest.raises(swath.Error) as raised:
            work(comm)
        return raised.value

    errors = run_ranks(ranks, catch)
    assert len({(type(error), str(error)) for error in errors}) == 1, errors
    return errors[0]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("what", ["npy", "raw", "cdf5", "hdf5"])
def test_truncated_files_are_refused_with_both_sizes(tmp_path: Path, what: str, ranks: int) -> None:
    path = tmp_path / ("a." + {"npy": "npy", "raw": "dat", "cdf5": "nc3", "hdf5": "h5"}[what])
    create_all(path, OLD, variable=None if what in ("npy", "raw") else "v")
    described = {"shape": (3, 4), "dtype": "<f8"} if what == "raw" else {}
    full = path.stat().st_size
    os.truncate(path, full - 9)
    error = fails_alike(ranks, lambda comm: swath.open(path, comm=comm, **described))
    assert isinstance(error, swath.FormatError)
    assert str(path) in str(error)
    if what != "hdf5":
        assert f"{full - 9} bytes" in str(error)
    assert "truncated" in str(error)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_a_file_that_shrinks_meanwhile_is_an_error_that_says_where(tmp_path: Path, method: str, ranks: int) -> None:
    path = tmp_path / "a.dat"
    path.write_bytes(bytes(8 * 1200))
    d = Distribution((Cyclic(), Whole()), (ranks,))

    def work(comm: Any) -> None:
        with swath.open(path, shape=(30, 40), dtype="<f8", comm=comm) as a:
            comm.barrier()
            os.truncate(path, 5000)
            comm.barrier()
            a.read(d, method=method)

    error = fails_alike(ranks, work)
    path.write_bytes(bytes(8 * 1200))
    assert isinstance(error, swath.StoreError)
    assert re.search(rf"read {re.escape(str(path))} at \d+: wanted \d+ bytes, got \d+: end of file", str(error)), error


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_cannot_be_opened_or_created_says_why(tmp_path: Path, ranks: int) -> None:
    np.save(tmp_path / "a.npy", OLD)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("not an array at all, but long enough to have been one")
    hdf5(chunks=(5, 8))(tmp_path / "a.h5")
    closed = tmp_path / "no folder" / "a.npy"
    raw = {"shape": 3, "dtype": "<f8"}
    text, a_npy, a_h5, b_npy, b_nc = (tmp_path / name for name in ("text", "a.npy", "a.h5", "b.npy", "b.nc"))
    folder = tmp_path / "folder"
    for use, kind, message in (
        (
            lambda c: swath.open(tmp_path / "none.npy", comm=c),
            swath.NotFoundError,
            "none.npy: cannot open: No such file",
        ),
        (lambda c: swath.open(folder, comm=c), swath.StoreError, "folder: it is a directory, and no Zarr store"),
        (lambda c: swath.open(folder, comm=c, **raw), swath.StoreError, "Is a directory"),
        (lambda c: swath.open(text, comm=c), swath.FormatError, "Swath knows .npy, netCDF classic"),
        (lambda c: swath.open(a_h5, "w", comm=c), swath.ArgumentError, "before"),
        (lambda c: swath.open(a_h5, comm=c), swath.ArgumentError, "after"),
        (lambda c: swath.open(a_npy, "v", comm=c), swath.ArgumentError, "variable"),
        (lambda c: swath.open(a_npy, mode="w", comm=c), swath.ArgumentError, 'expected "r" or "r+"'),
        (lambda c: swath.open(a_npy, shape=3, comm=c), swath.ArgumentError, "shape"),
        (lambda c: swath.open(text, shape=9, dtype="<f8", comm=c), swath.FormatError, "72"),
        (lambda c: swath.open(3, comm=c), swath.ArgumentError, "path must be a string or a path, not 3"),
        (lambda c: swath.open(a_npy, format="zip", comm=c), swath.ArgumentError, "expected one of raw, npy"),
        (lambda c: swath.create(3, 3, "<f8", comm=c), swath.ArgumentError, "path must be a string or a path, not 3"),
        (lambda c: swath.create(closed, 3, "<f8", comm=c), swath.NotFoundError, f"there is no folder {closed.parent}"),
        (lambda c: swath.create(folder, 3, "<f8", comm=c), swath.StoreError, "it is a directory"),
        (lambda c: swath.create(folder, 3, "<f8", overwrite=True, comm=c), swath.StoreError, "it is a directory"),
        (lambda c: swath.create(b_npy, -3, "<f8", comm=c), swath.ArgumentError, "shape (-3,) has a negative"),
        (lambda c: swath.create(b_npy, 3, "O", comm=c), swath.ArgumentError, "dtype object has no fixed"),
        (lambda c: swath.create(b_nc, 3, "<c8", comm=c), swath.ArgumentError, "cannot store dtype complex64"),
        (lambda c: swath.create(b_nc, (3, 4), "<f8", order="F", comm=c), swath.ArgumentError, "order"),
        (lambda c: swath.create(b_npy, 3, "<f8", fill="x", comm=c), swath.ArgumentError, "fill"),
        (lambda c: swath.create(b_npy, 3, "<f8", variable="v", comm=c), swath.ArgumentError, "variable"),
    ):
        error = fails_alike(ranks, use)
        assert isinstance(error, kind), (error, kind)
        assert message in str(error), error
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "a.npy", "folder", "text"]
    for wrong in (3, "world", object()):
        with pytest.raises(swath.ArgumentError, match="comm: expected None or an mpi4py communicator, not"):
            swath.open(a_npy, comm=wrong)


def test_reading_leaves_no_file_open(tmp_path: Path) -> None:
    """h5py and netCDF4 are shut while the engines work; ours is shut on close."""
    hdf5(chunks=(5, 8))(tmp_path / "a.h5")

    def open_here() -> list[str]:
        links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        return [os.readlink(link) for link in links if os.path.islink(link) and "a.h5" in os.readlink(link)]

    with swath.open(tmp_path / "a.h5", "v", mode="r+") as a:
        a.read()
        assert len(open_here()) == 1
        a.write(np.zeros((13, 29)))
        assert len(open_here()) == 1
        assert not isinstance(a._description.layout, LibraryLayout)
    assert open_here() == []
