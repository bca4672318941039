"""Threads that share one open array: parallel local reads, writes in order, collective calls one thread at a time."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

import swath
from swath.files import library_access
from swath.ranks.ranks import ranks_of
from swath.simulated import run_ranks

ROWS, COLUMNS = 2000, 250
VALUES = np.random.default_rng(24).random((ROWS, COLUMNS))
READS = int(os.environ.get("SWATH_TEST_READS", "10000"))
"""The reads of all threads, engines and methods together."""
ENGINES = ("posix", "uring", "auto")
METHODS = ("direct", "sieve", "list", "two-phase")
THREADS = 4


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("threads") / "x.npy"
    np.save(path, VALUES)
    return path


def count_wrong(read, expected, reads, threads=THREADS):
    """Return how many of `read(i)` differ from `expected(i)`, in several threads."""
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda i: not np.array_equal(read(i), expected(i)), range(reads)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ENGINES)
def test_threads_read_by_every_engine_and_method_what_each_would_read_alone(path, engine, method):
    with swath.open(path, engine=engine) as a:

        def read(i):
            return a.read(selection=np.s_[:: 1 + i % 3, i % COLUMNS], method=method)

        def expected(i):
            return VALUES[:: 1 + i % 3, i % COLUMNS]

        assert count_wrong(read, expected, READS // (len(ENGINES) * len(METHODS))) == 0


def test_threads_read_what_numpy_indexing_gives_with_default_settings(path):
    with swath.open(path) as a:
        assert count_wrong(lambda i: a[::3, i % COLUMNS], lambda i: VALUES[::3, i % COLUMNS], 1000) == 0


def test_the_same_short_read_by_several_threads_brings_each_its_own(path):
    """The cached operation is executed by one thread at a time."""
    with swath.open(path) as a:
        assert count_wrong(lambda i: a[i % 2 : 100 : 2], lambda i: VALUES[i % 2 : 100 : 2], 2000) == 0


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("x.zarr", {"chunks": (128, 100)}),
        ("x.zarr", {"chunks": (64, 50), "shards": (512, 100)}),
        ("x.h5", {"chunks": (128, 100)}),
        ("x.nc", {"format": "netcdf-classic"}),
        ("x.raw", {"order": "F"}),
    ],
)
def test_threads_read_every_format(tmp_path, name, how):
    path = tmp_path / name
    with swath.create(path, VALUES.shape, VALUES.dtype, variable=None if name.endswith("raw") else "x", **how) as a:
        a.write(VALUES)
    again = {"shape": VALUES.shape, "dtype": VALUES.dtype, "order": "F"} if name.endswith("raw") else {}
    with swath.open(path, **again) as a:
        assert count_wrong(lambda i: a[i::7, i % 200 :], lambda i: VALUES[i::7, i % 200 :], 200) == 0


def test_threads_read_compressed_hdf5_and_what_goes_through_the_library(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("gzip", data=VALUES, chunks=(100, 50), compression="gzip")
        file.create_dataset("lzf", data=VALUES, chunks=(100, 50), compression="lzf")  # only h5py can decode it
    for variable in ("gzip", "lzf"):
        with swath.open(tmp_path / "x.h5", variable) as a:
            assert count_wrong(lambda i: a[i::9, i:], lambda i: VALUES[i::9, i:], 60) == 0


def test_two_reads_are_under_way_at_once(path):
    """Each read waits for another thread's read in the engine: a single lock would be a deadlock."""
    with swath.open(path, engine="fault:pairs") as a:
        assert count_wrong(lambda i: a[i], lambda i: VALUES[i], 100, threads=2) == 0


def test_who_reads_never_sees_half_a_write(tmp_path):
    """Writes are in order, and a read comes before a write or after it."""
    shape = (300, 200)
    with swath.create(tmp_path / "x.npy", shape, "i8") as a:
        a.write(np.zeros(shape, "i8"))

        def work(i):
            if i % 4 == 0:
                a.write(np.full(shape, i))
                return True
            return np.unique(a.read(method="sieve", tuning={"sieve_bytes": 4096})).size == 1

        with ThreadPoolExecutor(THREADS) as pool:
            assert all(pool.map(work, range(200)))


def test_closing_waits_for_reads_under_way(tmp_path, monkeypatch):
    began, may_go_on = threading.Event(), threading.Event()
    move = library_access.move

    def move_late(*arguments):
        began.set()
        may_go_on.wait(60)
        return move(*arguments)

    monkeypatch.setattr(library_access, "move", move_late)
    with h5py.File(tmp_path / "a.h5", "w") as file:  # a filter that is the library's alone
        file.create_dataset("x", data=VALUES, chunks=(2, 2), compression="lzf")
    a = swath.open(tmp_path / "a.h5")
    with ThreadPoolExecutor(2) as pool:
        read = pool.submit(lambda: a[...])
        began.wait(60)
        closed = pool.submit(a.close)
        with pytest.raises(TimeoutError):
            closed.result(0.2)
        may_go_on.set()
        assert np.array_equal(read.result(), VALUES)
        closed.result()
    with pytest.raises(swath.errors.ArgumentError, match="closed"):
        a[0]


def test_two_threads_that_close_leave_one_complete_file(tmp_path):
    for number in range(20):
        a = swath.create(tmp_path / f"{number}.npy", (10,), "i4")
        a.write(np.arange(10, dtype="i4"))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: a.close(), range(2)))  # noqa: B023
        assert np.load(tmp_path / f"{number}.npy").tolist() == list(range(10))


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_second_thread_in_a_collective_call_is_refused_and_reads_alone(path, ranks):
    distribution = swath.Distribution((swath.Cyclic(1), swath.Whole()), grid=(ranks, 1))

    def in_thread(work):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work).result()

    def body(comm):
        with swath.open(path, comm=comm) as a:
            calls = {
                "read": lambda: a.read(distribution),
                "write": lambda: a.write(np.zeros(0), distribution),
                "sync": a.sync,
                "close": a.close,
                "explain": lambda: a.explain(swath.Boxes([])),
                "open": lambda: swath.open(path, comm=comm),
            }
            with ranks_of(comm).in_turn("what takes long"):
                for name, call in calls.items():
                    with pytest.raises(swath.errors.ArgumentError, match=f"{name}.*another thread of this rank"):
                        in_thread(call)
                assert np.array_equal(in_thread(lambda: a[5]), VALUES[5])
            assert np.array_equal(a.read(distribution), VALUES[comm.rank :: ranks])

    run_ranks(ranks, body)
