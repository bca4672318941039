"""Concurrent writes of arrays of one open file: one writes at a time, and no byte of another is lost.

Their elements are interleaved. A write fills windows: it reads one, and writes back the bytes of others. On a modelled
disk, each window takes so long that two writes would meet in every one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from mpi_runs import run_well
from swath.simulated import run_ranks

ELEMENTS = 400
ROUNDS = 5
SLOW = "model:xeon-eide"

Write = Callable[[dict[str, Any], dict[str, Any]], None]


def classic_file(path: Path) -> Path:
    """Make variables along the unlimited dimension: their elements alternate."""
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(path / "x.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("t", None)
        for name in "abc":
            file.createVariable(name, "f8", ("t",))
        for name in "abc":
            file[name][:] = np.zeros(ELEMENTS)
    return path / "x.nc"


def hdf5_file(path: Path) -> Path:
    """Make datasets in chunks of one row, which alternate, because they were written in this order."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "x.h5", "w") as file:
        made = [file.create_dataset(name, (ELEMENTS // 10,), "f8", chunks=(10,)) for name in "abc"]
        for chunk in range(ELEMENTS // 100):
            for one in made:
                one[10 * chunk : 10 * chunk + 10] = 0
                file.flush()
        for one in made:
            one[...] = 0
    return path / "x.h5"


FILES = {"classic": classic_file, "hdf5": hdf5_file}


def by_threads(arrays: dict[str, Any], values: dict[str, Any]) -> None:
    threads = [
        threading.Thread(target=a.write, args=(values[name],), kwargs={"method": "sieve"}) for name, a in arrays.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def beside(arrays: dict[str, Any], values: dict[str, Any]) -> None:
    futures = [a.write_async(values[name], method="sieve") for name, a in arrays.items()]
    for future in futures:
        future.result()


def one_beside_and_one_plain(arrays: dict[str, Any], values: dict[str, Any]) -> None:
    first, *others = arrays
    future = arrays[first].write_async(values[first], method="sieve")
    for name in others:
        arrays[name].write(values[name], method="direct")
    future.result()


@pytest.mark.parametrize("write", [by_threads, beside, one_beside_and_one_plain])
@pytest.mark.parametrize("kind", FILES)
def test_what_one_array_writes_is_not_undone_by_another(tmp_path: Path, kind: str, write: Write) -> None:
    path = FILES[kind](tmp_path)
    with swath.open_file(path, mode="r+", engine=SLOW) as file:
        arrays = {name: file[name] for name in "abc"}
        for turn in range(1, ROUNDS + 1):
            values = {name: np.full(a.shape, 10.0 * turn + i) for i, (name, a) in enumerate(arrays.items())}
            write(arrays, values)
            for name, a in arrays.items():
                np.testing.assert_array_equal(a[:], values[name])


def test_an_array_is_read_while_another_is_written(tmp_path: Path) -> None:
    with swath.open_file(classic_file(tmp_path), mode="r+", engine=SLOW) as file:
        write = file["a"].write_async(np.ones(ELEMENTS), method="sieve", tuning={"sieve_bytes": 256})
        np.testing.assert_array_equal(file["b"][:100], np.zeros(100))
        assert not write.done()
        write.result()


def test_closing_the_file_waits_for_what_all_its_arrays_write(tmp_path: Path) -> None:
    path = classic_file(tmp_path)
    with swath.open_file(path, mode="r+", engine=SLOW) as file:
        for turn in range(1, 4):
            for i, name in enumerate("abc"):
                file[name].write_async(np.full(ELEMENTS, 10.0 * turn + i), method="sieve")
    with swath.open_file(path) as file:
        for i, name in enumerate("abc"):
            np.testing.assert_array_equal(file[name][:], np.full(ELEMENTS, 30.0 + i))


def test_threads_that_write_and_read_all_arrays_in_any_way_come_to_an_end(tmp_path: Path) -> None:
    """There is no deadlock; each thread has its own elements in all arrays."""
    threads, turns = 4, 60
    with swath.open_file(classic_file(tmp_path), mode="r+") as file:
        arrays = [file[name] for name in "abc"]

        def work(number: int) -> None:
            random = np.random.default_rng(number)
            own = np.s_[number::threads]
            stored = [np.zeros(ELEMENTS // threads) for _ in arrays]
            futures = []
            for turn in range(turns):
                which = int(random.integers(3))
                a, how = arrays[which], int(random.integers(4))
                if how < 2:
                    stored[which] = np.full(ELEMENTS // threads, float(turn))
                method = str(random.choice(["sieve", "direct", "list"]))
                if how == 0:
                    a.write(stored[which], selection=own, method=method)
                elif how == 1:
                    futures.append(a.write_async(stored[which], selection=own, method=method))
                elif how == 2:
                    np.testing.assert_array_equal(a.read(selection=own), stored[which])
                elif futures:
                    futures.pop(int(random.integers(len(futures)))).result()
            for a, values in zip(arrays, stored, strict=True):
                np.testing.assert_array_equal(a.read(selection=own), values)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))


def test_a_forked_child_writes_while_its_parent_does(tmp_path: Path) -> None:
    with swath.open_file(classic_file(tmp_path), mode="r+", engine=SLOW) as file:
        write = file["a"].write_async(np.full(ELEMENTS, 1.0), method="sieve")
        later = file["b"].write_async(np.full(ELEMENTS, 2.0), method="sieve")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                file["c"].write(np.full(ELEMENTS, 3.0), method="sieve")
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        write.result()
        later.result()
        for i, name in enumerate("abc"):
            np.testing.assert_array_equal(file[name][:], np.full(ELEMENTS, i + 1.0))


# ---- ranks -----------------------------------------------------------------------------------------------------------


def own_values(comm: Any, rows: swath.Distribution, number: int, turn: int) -> Any:
    return np.full(len(rows.indices((ELEMENTS,), comm.rank)[0]), 100.0 * turn + 10 * number + comm.rank)


@pytest.mark.parametrize("method", ["sieve", "two-phase", "direct"])
def test_ranks_ask_for_what_they_write_in_any_order(tmp_path: Path, method: str) -> None:
    path = classic_file(tmp_path)

    def work(comm: Any) -> None:
        rows = swath.Distribution((swath.Cyclic(),), grid=(comm.size,))
        with swath.open_file(path, mode="r+", comm=comm) as file:
            for turn in range(1, 4):
                values = [own_values(comm, rows, i, turn) for i in range(3)]
                read = file["a"].read_async(rows)
                futures = [
                    file[name].write_async(values[i], rows, method=method if i < 2 else "auto")
                    for i, name in enumerate("abc")
                ]
                file["b"].write(values[1] + 1, rows, method=method)
                for i in ((0, 1, 2), (2, 1, 0), (1, 2, 0))[comm.rank % 3]:
                    futures[i].result()
                read.result()
                for i, name in enumerate("abc"):
                    np.testing.assert_array_equal(file[name].read(rows), values[i] + (i == 1))

    for seed in range(10):
        run_ranks(3, work, seed=seed)


def test_ranks_are_told_what_one_of_them_cannot_write(tmp_path: Path) -> None:
    path = classic_file(tmp_path)

    def work(comm: Any) -> str:
        rows = swath.Distribution((swath.Cyclic(),), grid=(comm.size,))
        with swath.open_file(path, mode="r+", comm=comm) as file:
            read = file["a"].read_async(rows)
            with pytest.raises(swath.ArgumentError, match="rank 2: out"):
                file["a"].read(rows, out=np.zeros(1) if comm.rank == 2 else None)
            values = own_values(comm, rows, 0, 1)
            refused = file["a"].write_async(values[: len(values) - (comm.rank == 1)], rows)
            file["b"].write_async(values, rows).result()
            with pytest.raises(swath.ArgumentError) as raised:
                refused.result()
            np.testing.assert_array_equal(read.result(), np.zeros(len(values)))
            np.testing.assert_array_equal(file["b"].read(rows), values)
            return str(raised.value)

    for seed in range(5):
        assert len(set(run_ranks(3, work, seed=seed))) == 1


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_ranks_write_to_one_array_is_not_undone_by_another(tmp_path: Path, ranks: int) -> None:
    assert run_well(ranks, "one_file_ranks.py", classic_file(tmp_path)).split() == ["0"] * ranks


@pytest.mark.parametrize("rows", [6, None])
def test_elements_are_moved_only_when_no_rank_is_at_them(tmp_path: Path, rows: int | None) -> None:
    """The first rank to arrive may move the elements: the others still read them."""
    values = np.arange(24.0).reshape(6, 4)

    def work(comm: Any) -> None:
        columns = swath.Distribution((swath.Whole(), swath.Cyclic()), grid=(1, comm.size))
        with swath.create_file(path, comm=comm) as file:
            v = file.create("v", (rows, 4), "f8", dimensions=("y", "x"))
            share = values[:, columns.indices(values.shape, comm.rank)[1]]
            v.write(share, columns) if rows else v.append(share, columns, records=6)
            np.testing.assert_array_equal(v[...], values)
            file.create("w", (rows, 3), "i4", dimensions=("y", "z"), attributes={"history": "x" * 5000})
            np.testing.assert_array_equal(v[...], values)

    for seed in range(8):
        path = tmp_path / f"{seed}.nc3"
        run_ranks(3, work, seed=seed)
        with swath.open(path, "v") as v:
            np.testing.assert_array_equal(v[...], values)


@pytest.mark.parametrize("suffix", ["nc3", "nc4", "h5", "zarr"])
def test_a_variable_that_ranks_disagree_on_is_not_there(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"

    def work(comm: Any) -> None:
        with swath.create_file(path, comm=comm) as file:
            file.create("v", (4,), "f4", dimensions=("x",))
            with pytest.raises(swath.DisagreementError):
                file.create("a", (3,), "f4" if comm.rank else "f8", dimensions=("q",))
            with pytest.raises(swath.DisagreementError):
                file.attributes["rank"] = f"{comm.rank}"
            assert list(file) == ["v"]
            file.create("a", (5,), "i2", dimensions=("q",))

    run_ranks(2, work)
    with swath.open_file(path) as file:
        assert {name: file[name].shape for name in file} == {"v": (4,), "a": (5,)}
        assert "rank" not in file.attributes
