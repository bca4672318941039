"""Open arrays can be pickled for other processes, which open them again; many threads and processes read at once."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import dask.base
import netCDF4
import numpy as np
import pytest

import swath
from random_reads import VALUES, wrong_reads
from swath.simulated import run_ranks


def raw(folder: Path, order: Any) -> swath.Array:
    with swath.create(folder / "a.raw", VALUES.shape, VALUES.dtype, order=order) as a:
        a[...] = VALUES
    with open(folder / "a.raw", "r+b") as file:
        content = b"head" + file.read()
        file.seek(0)
        file.write(content)
    return swath.open(folder / "a.raw", shape=VALUES.shape, dtype=VALUES.dtype, order=order, offset=4)


def opened(folder: Path, kind: str) -> swath.Array:
    if kind.startswith("raw"):
        return raw(folder, {"raw C": "C", "raw F": "F", "raw": (1, 2, 0)}[kind])
    path = folder / f"a.{kind}"
    options: dict[str, Any] = {"chunks": (10, 40, 3)} if kind in ("h5", "zarr") else {}
    with swath.create(path, VALUES.shape, VALUES.dtype, **options) as a:
        a[...] = VALUES
    return swath.open(path)


@pytest.mark.parametrize("kind", ["raw C", "raw F", "raw", "npy", "nc3", "h5", "zarr"])
def test_an_array_is_pickled_as_what_opens_it_again(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(Path(), kind) as a:
        monkeypatch.chdir("/")
        for dumped in (pickle.dumps(a), cloudpickle.dumps(a)):
            with pickle.loads(dumped) as b:
                np.testing.assert_array_equal(b[...], VALUES)
                assert (b.shape, b.dtype, b.variable, b.mode, b.layout) == (
                    *(a.shape, a.dtype, a.variable, "r"),
                    a.layout,
                )
                assert os.path.isabs(b.path)
        with copy.copy(a) as b:
            np.testing.assert_array_equal(b[1], VALUES[1])


def test_how_it_was_opened_goes_along(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    with swath.open(tmp_path / "a.npy", mode="r+", engine="posix", streams=None, lock_timeout=3) as a:
        with pickle.loads(pickle.dumps(a)) as b:
            assert (b.mode, b.engine, b.streams) == ("r+", "posix", None)
            b[0] = -1
        assert (a[0] == -1).all()


def test_one_array_of_a_file_is_opened_alone_and_a_file_as_a_whole(tmp_path: Path) -> None:
    with swath.create_file(tmp_path / "a.nc") as f:
        for name in "tu":
            f.create(name, VALUES.shape, VALUES.dtype)[...] = VALUES + ord(name)
    with swath.open_file(tmp_path / "a.nc") as f:
        with pickle.loads(pickle.dumps(f["u"])) as u:
            assert u.variable == "u"
            np.testing.assert_array_equal(u[...], VALUES + ord("u"))
        with pickle.loads(pickle.dumps(f)) as again:
            assert list(again) == ["t", "u"]
            np.testing.assert_array_equal(again["t"][...], VALUES + ord("t"))
    with pytest.raises(swath.ArgumentError, match=r"pickle .*a\.nc: the file is closed"):
        pickle.dumps(f)


def test_what_another_process_cannot_open_is_not_pickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)

    def work(comm: Any) -> None:
        with (
            swath.open(tmp_path / "a.npy", comm=comm) as a,
            pytest.raises(swath.ArgumentError, match=r"pickle .* together by 2 ranks"),
        ):
            pickle.dumps(a)

    run_ranks(2, work)
    with swath.create(tmp_path / "b.npy", (3,), "f4") as b:
        with pytest.raises(swath.ArgumentError, match=r"pickle .* new, and no other process"):
            pickle.dumps(b)
        b[...] = 0
    with pytest.raises(swath.ArgumentError, match=r"pickle .* closed"):
        pickle.dumps(b)


def test_decoded_values_go_along(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 3)
        variable = file.createVariable("t", "i2", ("x",), fill_value=-1)
        variable.scale_factor = 0.5
        variable[:] = np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0])
    with swath.open(tmp_path / "a.nc", decode=True) as a, pickle.loads(pickle.dumps(a)) as b:
        assert b[...].tolist() == [1.0, None, 3.0]
        assert dask.base.tokenize(a) == dask.base.tokenize(b) != dask.base.tokenize(a.stored)


@pytest.mark.parametrize("kind", ["raw", "nc3", "h5", "zarr"])
def test_a_token_is_of_the_array_and_of_the_state_of_its_file(tmp_path: Path, kind: str) -> None:
    with opened(tmp_path, kind) as a:
        token = dask.base.tokenize(a)
        with pickle.loads(pickle.dumps(a)) as b:
            assert dask.base.tokenize(b) == token
        path = Path(a.path)
    os.utime(path, ns=(1, 1))
    with pickle.loads(pickle.dumps(opened_again(path, a))) as c:
        assert dask.base.tokenize(c) != token


def opened_again(path: Path, a: swath.Array) -> swath.Array:
    if a.format != "raw":
        return swath.open(path)
    return swath.open(path, shape=a.shape, dtype=a.dtype, order=(1, 2, 0), offset=4)


def test_arrays_of_one_file_have_tokens_of_their_own(tmp_path: Path) -> None:
    with swath.create_file(tmp_path / "a.nc") as f:
        for name in "tu":
            f.create(name, (3,), "f4")[...] = 0
    with swath.open_file(tmp_path / "a.nc") as f:
        assert dask.base.tokenize(f["t"]) == dask.base.tokenize(f["t"]) != dask.base.tokenize(f["u"])


# ---- many at once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["raw", "nc3", "h5", "zarr"])
def test_many_threads_read_one_array(tmp_path: Path, kind: str) -> None:
    with opened(tmp_path, kind) as a, ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(wrong_reads, [a] * 16, range(16))) == 0


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_many_processes_read_an_array_that_they_are_sent(tmp_path: Path, start: str) -> None:
    with opened(tmp_path, "h5") as a, multiprocessing.get_context(start).Pool(3) as pool:
        assert sum(pool.starmap(wrong_reads, [(a, seed) for seed in range(6)])) == 0
