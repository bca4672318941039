"""dask and `distributed` with Swath: threads and processes read right values at the same time, cold and warm.

SWATH_TEST_DASK_READS: random reads by each scheduler (10000 for a release; a tenth of that by default).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath import Block, Distribution, Whole
from swath.simulated import run_ranks
from xarray_cases import packed, plain, xr

dask = pytest.importorskip("dask")
dask_array = pytest.importorskip("dask.array")
pytest.importorskip("h5py")
pytest.importorskip("netCDF4")

from swath.xarray import SwathBackendEntrypoint as Engine  # noqa: E402
from swath.xarray import conversion  # noqa: E402

READS = int(os.environ.get("SWATH_TEST_DASK_READS", "1000"))
SHAPE = (60, 50, 40)
CHUNKS = (7, 11, 13)
BLOCKS = (21, 22, 26)
"""The size of a task's read."""
PARTS = 10
"""The number of parts in which reads are computed, with pages dropped before each, and during every other one."""
VALUES = np.arange(np.prod(SHAPE), dtype="i4").reshape(SHAPE)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same values in chunks that are deflated, in a folder of chunks, and in records."""
    folder = tmp_path_factory.mktemp("dask")
    data_set = xr.Dataset({"v": (("t", "y", "x"), VALUES)})
    data_set.swath.to_file(folder / "a.nc4", encoding={"v": {"chunksizes": CHUNKS, "zlib": True}})
    data_set.swath.to_file(folder / "a.zarr", encoding={"v": {"chunks": CHUNKS}})
    data_set.swath.to_file(folder / "a.nc", unlimited_dims=["t"], format="netcdf-classic")
    return [folder / name for name in ("a.nc4", "a.zarr", "a.nc")]


def drop_pages(paths: list[Path]) -> None:
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file():
                descriptor = os.open(file, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)


@contextlib.contextmanager
def pages_dropped_all_the_time(paths: list[Path]) -> Iterator[None]:
    stop = threading.Event()

    def drop() -> None:
        while not stop.wait(0.05):
            drop_pages(paths)

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def random_key(rng: np.random.Generator) -> tuple[Any, ...]:
    key: list[Any] = []
    for n in SHAPE:
        start, stop = sorted(rng.integers(0, n + 1, 2).tolist())
        key.append(
            [int(rng.integers(-n, n)), slice(start, stop), slice(start, stop, int(rng.integers(1, 5)))][rng.integers(3)]
        )
    return tuple(key)


def random_reads(sources: list[Any], count: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Return lazy selections, and their expected values."""
    rng = np.random.default_rng(seed)
    keys = [random_key(rng) for _ in range(count)]
    return [sources[rng.integers(len(sources))][key] for key in keys], [VALUES[key] for key in keys]


def wrong(found: tuple[Any, ...], expected: list[Any]) -> int:
    assert len(found) == len(expected)
    return sum(not np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def sources(files: list[Path], stack: contextlib.ExitStack) -> list[Any]:
    """Return dask arrays of `to_dask`, and those of data sets."""
    arrays = [stack.enter_context(swath.open(path, "v")).to_dask(BLOCKS) for path in files]
    blocks = dict(zip("tyx", BLOCKS, strict=True))
    opened = [stack.enter_context(xr.open_dataset(path, engine=Engine, chunks=blocks)) for path in files]
    return arrays + [data_set.v.data for data_set in opened]


def check_random_reads(files: list[Path], lazy: list[Any], seed: int, **options: Any) -> None:
    for part in range(PARTS):
        found, expected = random_reads(lazy, READS // PARTS, seed + part)
        drop_pages(files)
        with pages_dropped_all_the_time(files) if part % 2 else contextlib.nullcontext():
            assert wrong(dask.compute(*found, **options), expected) == 0


def test_random_reads_by_threads_read_what_is_there(files: list[Path]) -> None:
    with contextlib.ExitStack() as stack:
        check_random_reads(files, sources(files, stack), 1000, scheduler="threads", num_workers=4)


@pytest.mark.slow
def test_random_reads_by_processes_read_what_is_there(files: list[Path]) -> None:
    spawning = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack, ProcessPoolExecutor(2, spawning) as pool:
        check_random_reads(files, sources(files, stack), 2000, scheduler="processes", pool=pool)


@pytest.mark.slow
def test_random_reads_by_a_cluster_read_what_is_there(files: list[Path]) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        contextlib.ExitStack() as stack,
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster),
    ):
        check_random_reads(files, sources(files, stack), 3000)
        data_set = xr.open_dataset(files[0], engine=Engine, chunks={})
        (data_set + 1).swath.to_file(files[0].parent / "plus.nc4", memory="64KiB")
        with swath.open(files[0].parent / "plus.nc4", "v") as array:
            np.testing.assert_array_equal(array[...], VALUES + 1)


def test_blocks_are_whole_chunks_of_the_file(files: list[Path]) -> None:
    with swath.open(files[0], "v") as array, dask.config.set({"array.chunk-size": "40KiB"}):
        blocks = array.to_dask()
        assert blocks.dtype == array.dtype
        assert max(blocks.npartitions, 2) > 2
        for lengths, chunk in zip(blocks.chunks, CHUNKS, strict=True):
            assert all(length % chunk == 0 for length in lengths[:-1])
        np.testing.assert_array_equal(blocks.compute(), VALUES)
        assert array.to_dask({0: 7, 1: -1, 2: -1}).chunks[0][:2] == (7, 7)


def test_the_same_array_of_the_same_file_has_the_same_name(files: list[Path], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    with swath.open(tmp_path / "a.npy") as a, swath.open(tmp_path / "a.npy") as again, swath.open(files[0], "v") as b:
        name = a.to_dask().name
        assert again.to_dask().name == name
        assert b.to_dask().name != name
    np.save(tmp_path / "a.npy", VALUES + 1)
    with swath.open(tmp_path / "a.npy") as changed:
        assert changed.to_dask().name != name


def test_a_process_opens_an_array_once_however_many_tasks_bring_it(files: list[Path]) -> None:
    with swath.open(files[1], "v") as array:
        blocks = array.to_dask(CHUNKS)
        source = next(v for v in dict(blocks.dask).values() if isinstance(v, conversion.Shared))
        sent = pickle.dumps(source)
        assert len(sent) < 2000
        first, second = pickle.loads(sent), pickle.loads(sent)
        assert first is second
        assert first is not source
        np.testing.assert_array_equal(first[3, ::2], VALUES[3, ::2])


def test_arrays_of_all_kinds_are_dask_arrays(tmp_path: Path) -> None:
    VALUES.tofile(tmp_path / "a.raw")
    with swath.open(tmp_path / "a.raw", shape=SHAPE, dtype="i4") as array:
        np.testing.assert_array_equal(array.to_dask().sum(axis=0).compute(), VALUES.sum(axis=0))
        np.testing.assert_array_equal(array.to_dask()[[3, 1, 1], 2].compute(), VALUES[[3, 1, 1], 2])
    packed().to_netcdf(tmp_path / "p.nc")
    with swath.open(tmp_path / "p.nc", "p", decode=True) as decoded:
        found = decoded.to_dask().compute()
        assert isinstance(found, np.ma.MaskedArray)
        np.testing.assert_array_equal(found.filled(np.nan), packed().p.values)
        assert float(dask_array.ma.filled(decoded.to_dask(), 0).sum().compute()) == np.nansum(packed().p.values)


@pytest.mark.parametrize("name", ["a.nc3", "a.nc4", "a.h5", "a.zarr"])
def test_an_array_is_a_data_array_with_its_coordinates(tmp_path: Path, name: str) -> None:
    for data_set, variable in ((plain(), "t"), (plain(), "time"), (plain(), "scalar"), (packed(), "p")):
        data_set.swath.to_file(tmp_path / name, mode="w")
        engine = "zarr" if name == "a.zarr" else "netcdf4"
        for is_decoded in (False, True):
            with swath.open(tmp_path / name, variable, decode=is_decoded and variable != "time") as array:
                found = array.to_xarray()
            stored = {} if is_decoded else {"mask_and_scale": {variable: False}}
            with xr.open_dataset(tmp_path / name, engine=engine, **stored) as expected:
                xr.testing.assert_identical(found.load(), expected[variable].load())


def test_coordinates_of_groups_above_are_those_of_an_array(tmp_path: Path) -> None:
    inner = plain()[["t"]].drop_vars(["time", "x", "label"])
    tree = xr.DataTree.from_dict({"/": plain().drop_vars("t"), "/deep/er": inner})
    tree.swath.to_file(tmp_path / "a.nc4")
    with swath.open(tmp_path / "a.nc4", "deep/er/t") as array:
        found = array.to_xarray()
    assert set(found.coords) == {"time", "x"}
    xr.testing.assert_equal(found.load(), plain().t.drop_vars("label"))


def test_a_rank_computes_with_dask_alone(files: list[Path]) -> None:
    def work(comm: Any) -> Any:
        with swath.open(files[0], "v", comm=comm) as array:
            array.read(Distribution((Block(), Whole(), Whole()), (2, 1, 1)))
            lazy = array.to_dask(BLOCKS)[comm.rank :: 2]
            with pytest.raises(swath.ArgumentError, match="opened together by 2 ranks"):
                pickle.dumps(array)
            return lazy.compute(scheduler="threads")

    for rank, part in enumerate(run_ranks(2, work)):
        np.testing.assert_array_equal(part, VALUES[rank::2])


def test_without_dask_or_xarray_it_is_said_what_to_install(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError("no such module", name="xarray")

    monkeypatch.setattr("importlib.import_module", missing)
    with swath.open(files[0], "v") as array, pytest.raises(swath.UnsupportedError, match="pip install 'swath"):
        array.to_xarray()


class Slow:
    """An array whose open blocks until the test continues it."""

    dtype, shape, ndim = np.dtype("f8"), (3,), 1

    def __init__(self, opening: threading.Event, go_on: threading.Event) -> None:
        opening.set()
        assert go_on.wait(60)


def test_a_process_that_is_forked_while_a_task_opens_an_array_opens_its_own(files: list[Path]) -> None:
    with swath.open(files[0], "v") as a:
        task = pickle.dumps(conversion.Shared(a, f"fork-{os.getpid()}"))
        opening, go_on = threading.Event(), threading.Event()
        thread = threading.Thread(target=conversion._shared, args=("slow", Slow, (opening, go_on)))
        thread.start()
        try:
            assert opening.wait(60)
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a hang ends it
                is_right = False
                try:
                    is_right = np.array_equal(pickle.loads(task)[3:5], VALUES[3:5])
                finally:
                    os._exit(0 if is_right else 1)
            assert os.waitpid(child, 0)[1] == 0
        finally:
            go_on.set()
            thread.join()
