"""Asynchronous operations: order, errors, unwaited operations, forks, several ranks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from own_io import bytes_read
from swath import _core
from swath.array.async_operations import Participants
from swath.array.request import Request
from swath.simulated import run_ranks

SHAPE = (48, 500)
VALUES = np.arange(48 * 500, dtype="<f8").reshape(SHAPE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    VALUES.tofile(tmp_path / "a.raw")
    return tmp_path / "a.raw"


def opened(path: Path, **how: Any) -> swath.Array:
    array: swath.Array = swath.open(path, shape=SHAPE, dtype="<f8", **how)
    return array


def threads_of_process() -> int:
    return len(os.listdir("/proc/self/task"))


def wait_for_threads(most: int) -> None:
    """Wait until at most this many threads exist: a thread that has ended stays visible for a moment."""
    until = time.monotonic() + 5
    while threads_of_process() > most and time.monotonic() < until:
        time.sleep(0.005)
    assert threads_of_process() <= most


def test_many_reads_are_under_way_and_each_brings_its_own(path: Path) -> None:
    with opened(path) as a:
        futures = [a.read_async(selection=np.s_[i : i + 5, ::3]) for i in range(0, 48, 5)]
        for i, future in reversed(list(enumerate(futures))):
            np.testing.assert_array_equal(future.result(), VALUES[5 * i : 5 * i + 5, ::3])
            assert future.done()
            np.testing.assert_array_equal(future.result(), VALUES[5 * i : 5 * i + 5, ::3])


def test_operations_take_effect_in_the_order_of_their_calls(path: Path) -> None:
    with opened(path, mode="r+") as a:
        before = a.read_async()
        write = a.write_async(VALUES * 2)
        after = a.read_async()
        np.testing.assert_array_equal(a[3], VALUES[3] * 2)  # a plain read waits for the write
        a[3] = 7  # a plain write waits for the read before it
        np.testing.assert_array_equal(after.result(), VALUES * 2)
        np.testing.assert_array_equal(before.result(), VALUES)
        assert write.result() is None
        np.testing.assert_array_equal(a.read_async(selection=3).result(), np.full(500, 7.0))


def test_a_result_in_the_other_byte_order_and_strided_is_put_into_out(path: Path) -> None:
    out = np.zeros((24, 500), dtype=">f8")
    with opened(path) as a:
        assert a.read_async(selection=np.s_[::2], out=out).result() is out
        np.testing.assert_array_equal(out, VALUES[::2])
        turned = np.zeros(SHAPE[::-1]).T
        a.read_async(out=turned).result()
        np.testing.assert_array_equal(turned, VALUES)


def test_what_is_waited_for_and_what_is_hidden_make_up_the_operation(path: Path) -> None:
    with opened(path, engine="model:xeon-eide") as a:
        future = a.read_async()
        while not future.done():
            time.sleep(0.001)
        future.result()
        hidden = a.counters
        assert hidden.waited_seconds < 0.2 * hidden.hidden_seconds
        assert hidden.hidden_seconds == pytest.approx(hidden.total_seconds, rel=0.2, abs=2e-3)
        a.read_async(selection=np.s_[:40]).result()
        waited = future.counters, a.counters
        assert waited[0] == hidden
        assert waited[1].hidden_seconds < 0.2 * waited[1].waited_seconds
        a.read()
        assert a.counters.hidden_seconds == 0
        assert a.counters.waited_seconds == a.counters.total_seconds


def test_closing_waits_for_what_was_asked_for(path: Path) -> None:
    with opened(path, mode="r+") as a:
        a.read_async()
        writes = [a.write_async(VALUES[i] * 3, selection=i) for i in range(48)]
        reads = [a.read_async() for _ in range(5)]
    for future in (*writes, *reads):
        assert future.done()
    np.testing.assert_array_equal(reads[-1].result(), VALUES * 3)
    np.testing.assert_array_equal(np.fromfile(path).reshape(SHAPE), VALUES * 3)
    with pytest.raises(swath.ArgumentError, match="closed"):
        a.read_async()


def test_a_write_that_nobody_waits_for_is_carried_out_and_read_by_others_after_sync(path: Path) -> None:
    with opened(path, mode="r+") as a:
        for i in range(48):
            a.write_async(VALUES[i] + 1, selection=i)
        a.sync()
        np.testing.assert_array_equal(np.fromfile(path).reshape(SHAPE), VALUES + 1)


def test_an_error_is_raised_by_result_and_by_nothing_else(path: Path) -> None:
    with opened(path, engine="fault:read@1=EIO") as a:
        futures = [a.read_async(selection=i, method="direct") for i in range(3)]
        np.testing.assert_array_equal(futures[0].result(), VALUES[0])
        for _ in range(2):
            with pytest.raises(swath.StoreError, match=r"read .* at 4000"):
                futures[1].result()
        np.testing.assert_array_equal(futures[2].result(), VALUES[2])
        a.sync()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_error_of_a_write_that_was_let_go_of_is_shown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", shown.append)
    with opened(path, mode="r+", engine="fault:write@0=ENOSPC") as a:
        a.write_async(VALUES)
        gc.collect()
        assert [type(each.exc_value) for each in shown] == [swath.StoreError]
    assert len(shown) == 1


def test_what_cannot_be_asked_for_is_refused_at_once(path: Path) -> None:
    with opened(path) as a:
        with pytest.raises(swath.SelectionError):
            a.read_async(selection=np.s_[1, 2, 3])
        with pytest.raises(swath.ArgumentError, match="opened for reading"):
            a.write_async(VALUES)
        with pytest.raises(swath.ArgumentError, match="shape"):
            a.read_async(out=np.zeros(3))


def test_futures_that_are_let_go_of_leave_no_thread_and_the_array_can_be_used(path: Path) -> None:
    with opened(path, engine="model:xeon-eide") as a:
        a.read(selection=0)
        threads = threads_of_process()
        futures = [a.read_async() for _ in range(1000)]
        before = bytes_read()
        del futures
        gc.collect()
        wait_for_threads(threads)
        assert bytes_read() - before < 500 * VALUES.nbytes, "reads went on that nobody wanted"
        np.testing.assert_array_equal(a.read(), VALUES)


def test_the_memory_of_a_read_lives_as_long_as_it_is_read_into(path: Path) -> None:
    for _ in range(20):
        a = opened(path, engine="model:p690-raid5")
        future = a.read_async()
        out = np.empty(SHAPE)
        second = a.read_async(out=out)
        del out, a
        gc.collect()
        np.testing.assert_array_equal(second.result(), VALUES)
        del future, second


def test_a_forked_child_has_nothing_under_way_and_begins_anew(path: Path) -> None:
    with opened(path, engine="model:xeon-eide") as a:
        done = a.read_async()
        done.result()
        futures = [a.read_async() for _ in range(20)]
        child = os.fork()
        if child == 0:
            code = 1
            try:
                np.testing.assert_array_equal(done.result(), VALUES)
                try:
                    futures[-1].result()
                except swath.ArgumentError as error:
                    assert "forked" in str(error)  # noqa: PT017
                    futures.clear()
                    np.testing.assert_array_equal(a.read_async(selection=5).result(), VALUES[5])
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        np.testing.assert_array_equal(futures[-1].result(), VALUES)


def test_threads_ask_and_wait_in_any_order(path: Path) -> None:
    errors: list[BaseException] = []
    with opened(path, mode="r+") as a:

        def work(i: int) -> None:
            try:
                rows = np.s_[12 * i : 12 * i + 12]
                for turn in range(20):
                    write = a.write_async(VALUES[rows] + turn, selection=rows)
                    np.testing.assert_array_equal(a.read_async(selection=rows).result(), VALUES[rows] + turn)
                    write.result()
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


def test_threads_that_ask_for_one_result_get_the_same(path: Path) -> None:
    boxes = swath.Boxes([((0, 0), SHAPE)])
    swapped = np.empty(SHAPE, ">f8")
    with opened(path) as a, ThreadPoolExecutor(3) as pool:
        for _ in range(100):
            of_boxes, of_out = a.read_async(boxes), a.read_async(out=swapped)
            for (values,) in pool.map(lambda _, future=of_boxes: future.result(), range(3)):
                np.testing.assert_array_equal(values, VALUES)
            for values in pool.map(lambda _, future=of_out: future.result(), range(3)):
                assert values is swapped
                np.testing.assert_array_equal(values, VALUES)


@pytest.mark.parametrize("format", ["hdf5", "zarr", "netcdf-classic"])
def test_every_format_is_written_and_read(tmp_path: Path, format: str) -> None:  # noqa: A002
    suffix = {"hdf5": "h5", "zarr": "zarr", "netcdf-classic": "nc3"}[format]
    values = VALUES.astype(">f8") if format == "netcdf-classic" else VALUES
    coded: dict[str, Any] = {} if format == "netcdf-classic" else {"chunks": (7, 90), "codecs": "gzip"}
    with swath.create(tmp_path / f"a.{suffix}", SHAPE, values.dtype, variable="u", **coded) as a:
        for i in range(0, 48, 11):
            a.write_async(values[i : i + 11], selection=np.s_[i : i + 11])
        np.testing.assert_array_equal(a.read_async().result(), VALUES)
    with swath.open(tmp_path / f"a.{suffix}", variable="u") as a:
        np.testing.assert_array_equal(a.read_async(selection=np.s_[3:20, 80:200]).result(), VALUES[3:20, 80:200])


ENDING = """
import sys, time
import numpy as np, swath
path, engine = sys.argv[1:]
a = swath.open(path, shape=(48, 500), dtype="<f8", mode="r+", engine=engine)
read = [a.read_async() for _ in range(200)]
loop = a.blocks((1, None), prefetch=30)
next(loop)
writes = [a.write_async(np.full(500, 7.0), selection=i) for i in range(3)]
cycle = [a, read, loop]
cycle.append(cycle)
print("ends", time.time(), flush=True)
"""


@pytest.mark.parametrize("engine", ["posix", "uring", "model:xeon-eide", "fault:write@0=EIO"])
def test_a_program_that_ends_stops_what_it_reads_and_finishes_what_it_writes(path: Path, engine: str) -> None:
    for _ in range(3):
        VALUES.tofile(path)
        ended = subprocess.run(
            [sys.executable, "-c", ENDING, str(path), engine], capture_output=True, text=True, timeout=60, check=False
        )
        took = time.time() - float(ended.stdout.split()[1])
        assert (ended.returncode, ended.stderr) == (0, "")
        assert took < 5  # all the reads take longer on the modelled disk
        written = np.fromfile(path).reshape(SHAPE)
        if not engine.startswith("fault"):
            np.testing.assert_array_equal(written[:3], 7.0)
        np.testing.assert_array_equal(written[3:], VALUES[3:])


# ---- ranks -----------------------------------------------------------------------------------------------------------


def rows_of(comm: Any) -> swath.Distribution:
    return swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_read_and_write_in_the_order_of_their_calls(path: Path, ranks: int) -> None:
    def work(comm: Any) -> None:
        rows = rows_of(comm)
        own = VALUES[np.ix_(*rows.indices(SHAPE, comm.rank))]
        with opened(path, mode="r+", comm=comm) as a:
            first = a.read_async(rows)
            a.write_async(own * 2, rows)
            alone = a._start_to_read(Request("read", None, np.s_[0]), Participants(alone=True))
            second = a.read_async(rows)
            np.testing.assert_array_equal(a.read(rows), own * 2)
            np.testing.assert_array_equal(second.result(), own * 2)
            np.testing.assert_array_equal(first.result(), own)
            np.testing.assert_array_equal(alone.result(), VALUES[0] * 2)
            a.write_async(own, rows)

    for seed in range(5):
        run_ranks(ranks, work, seed=seed)
        np.testing.assert_array_equal(np.fromfile(path).reshape(SHAPE), VALUES)


def test_ranks_are_all_told_by_result_what_one_of_them_cannot(path: Path) -> None:
    def work(comm: Any) -> list[str]:
        rows = rows_of(comm)
        told = []
        with opened(path, comm=comm) as a:
            for one in (
                a.read_async(rows, out=np.zeros(3) if comm.rank == 1 else None),
                a.read_async(rows, selection=np.s_[: 10 + comm.rank]),
                a.read_async(None if comm.rank == 2 else rows),
            ):
                with pytest.raises(swath.Error) as raised:
                    one.result()
                told.append(str(raised.value))
            np.testing.assert_array_equal(a.read_async(rows).result(), a.read(rows))
        return told

    first, second, third = run_ranks(3, work)
    assert first == second == third
    assert first[0].startswith("rank 1: out: shape (3,)")
    assert "selection" in first[1]
    assert first[2].startswith("rank 2: ")


def test_futures_of_ranks_that_are_let_go_of_keep_their_memory(path: Path) -> None:
    def work(comm: Any) -> None:
        rows = rows_of(comm)
        with opened(path, comm=comm) as a:
            for _ in range(5):
                a.read_async(rows)
            gc.collect()
            future = a.read_async(rows)
            if comm.rank == 1:
                del future
            elif comm.rank == 0:
                future.result()
            a.read(rows)

    run_ranks(3, work)


def test_the_core_says_what_goes_beside(path: Path) -> None:
    with opened(path) as a:
        assert a._core.may_run_in_background("read")
        assert _core.fork_generation() >= 0


WITHOUT_THREADS = """
import resource, sys
import numpy as np, swath
shape = (48, 500)
with swath.open(sys.argv[1], shape=shape, dtype="<f8", mode="r+", engine="posix") as a:
    a[0]
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (2 << 20),) * 2)  # too little for a stack
    read = [a.read_async(selection=i) for i in range(3)]
    wrote = a.write_async(np.full(500, 7.0), selection=5)
    assert [future.result()[1] for future in read] == [1.0, 501.0, 1001.0]
    wrote.result()
    assert a[5].tolist() == [7.0] * 500
    print("well")
"""


def test_where_there_are_no_more_threads_operations_are_carried_out_when_they_are_waited_for(path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_THREADS, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout == "well\n", ended.stderr
