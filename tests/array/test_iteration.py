"""Loops over an array equal NumPy for any blocks, readahead and early end; and they leave nothing behind."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from mpi_runs import run_well
from swath.array.iteration.grid import Grid
from swath.simulated import run_ranks

MIB = 1 << 20
FEW = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(st.data())
def test_blocks_cover_each_element_once_in_the_order_asked_for(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 7), max_size=3)))
    block = tuple(data.draw(st.integers(1, 8)) for _ in shape)
    block = tuple(min(b, n) for b, n in zip(block, shape, strict=True))
    ranks = data.draw(st.integers(1, 4))
    axes = data.draw(st.permutations(range(len(shape))))
    seen = np.zeros(shape, dtype=int)
    grids = [Grid(shape, block, axes, rank=rank, ranks=ranks) for rank in range(ranks)]
    boxes = [box for turn in itertools.zip_longest(*grids) for box in turn if box is not None]
    for box in boxes:
        seen[box] += 1
    assert np.all(seen == 1)
    begins = [tuple(box[d].start for d in axes) for box in boxes]
    assert begins == sorted(begins)


# ---- what is read and written ----------------------------------------------------------------------------------------


def created(folder: str, kind: str, values: np.ndarray[Any, Any]) -> Path:
    """Make a file of one of the kinds, by another library if possible."""
    path = Path(folder) / {"coded": "a.zarr", "hdf5": "a.h5"}.get(kind, "a.raw")
    if kind in ("C", "F"):
        path.write_bytes(values.tobytes(order=kind))  # type: ignore[arg-type]
        return path
    chunks = tuple(max(n // 2, 1) for n in values.shape)
    with swath.create(path, values.shape, values.dtype, variable="u", chunks=chunks, codecs="gzip") as a:
        a.write(values)
    return path


def opened(path: Path, kind: str, values: np.ndarray[Any, Any], **how: Any) -> swath.Array:
    if kind in ("C", "F"):
        how.update(shape=values.shape, dtype=values.dtype, order=kind)
    else:
        how["variable"] = "u"
    array: swath.Array = swath.open(path, **how)
    return array


PREFETCH = st.sampled_from(["auto", 0, 1, 3])


@FEW
@given(data=st.data(), kind=st.sampled_from(["C", "F", "coded", "hdf5"]), prefetch=PREFETCH, ranks=st.integers(1, 4))
def test_blocks_equal_numpy(data: st.DataObject, kind: str, prefetch: Any, ranks: int) -> None:
    least = 0 if kind in ("C", "F") else 1
    shape = tuple(data.draw(st.lists(st.integers(least, 9), min_size=1, max_size=3)))
    block = tuple(data.draw(st.one_of(st.none(), st.integers(1, 12))) for _ in shape)
    order = data.draw(st.sampled_from(["C", "F", "fast"]))
    values = np.random.default_rng(0).random(shape)
    least_bytes = max(2 * values.nbytes, 1)
    memory = data.draw(st.integers(least_bytes, 4 * least_bytes))
    with tempfile.TemporaryDirectory() as folder:
        if values.size == 0:
            return
        path = created(folder, kind, values)

        def work(comm: Any) -> list[tuple[Any, Any]]:
            how = {} if ranks == 1 else {"comm": comm}
            with opened(path, kind, values, **how) as a:
                return list(a.blocks(block, prefetch=prefetch, memory=memory, order=order))

        seen = np.zeros(shape, dtype=int)
        for pairs in run_ranks(ranks, work):
            for selection, part in pairs:
                seen[selection] += 1
                np.testing.assert_array_equal(part, values[selection])
        assert np.all(seen == 1)


@FEW
@given(data=st.data(), kind=st.sampled_from(["C", "F", "coded", "hdf5"]), prefetch=PREFETCH, ranks=st.integers(1, 4))
def test_iterate_equals_numpy(data: st.DataObject, kind: str, prefetch: Any, ranks: int) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 8), min_size=2, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    values = np.random.default_rng(1).random(shape)
    steps = np.moveaxis(values, axis, 0)
    rules = [swath.Whole() for _ in steps.shape[1:]]
    rules[0] = data.draw(st.sampled_from([swath.Block(), swath.Cyclic()]))  # type: ignore[call-overload]
    rows = swath.Distribution(rules, grid=(ranks, *(1 for _ in rules[1:])))
    with tempfile.TemporaryDirectory() as folder:
        path = created(folder, kind, values)

        def work(comm: Any) -> None:
            with opened(path, kind, values, comm=comm) as a:
                loop = a.iterate(rows, axis=axis, prefetch=prefetch, memory="1MiB")
                assert len(loop) == len(steps)
                for i, part in enumerate(loop):
                    np.testing.assert_array_equal(part, steps[i][np.ix_(*rows.indices(steps.shape[1:], comm.rank))])

        run_ranks(ranks, work, seed=data.draw(st.integers(0, 100)))


@FEW
@given(
    data=st.data(),
    kind=st.sampled_from(["C", "F", "coded", "hdf5"]),
    behind=st.sampled_from(["auto", 0, 1, 3]),
    ranks=st.integers(1, 4),
)
def test_what_a_writer_writes_equals_numpy(data: st.DataObject, kind: str, behind: Any, ranks: int) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    memory = data.draw(st.integers(1, 2000))
    values = np.random.default_rng(2).random(shape)
    rows = swath.Distribution([swath.Block(), *(swath.Whole() for _ in shape[1:])], (ranks, *(1 for _ in shape[1:])))
    cuts = [*range(0, shape[0], data.draw(st.integers(1, 4))), shape[0]]
    with tempfile.TemporaryDirectory() as folder:
        path = created(folder, kind, np.zeros(shape))

        def work(comm: Any) -> None:
            with opened(path, kind, values, mode="r+", comm=comm) as a, a.writer(behind=behind, memory=memory) as w:
                buffer = np.empty(0)
                for begin, end in itertools.pairwise(cuts):
                    buffer[...] = -1  # what was written before may be overwritten
                    part = values[begin:end]
                    buffer = part[np.ix_(*rows.indices(part.shape, comm.rank))].copy()
                    w.write(buffer, rows, selection=np.s_[begin:end])
                buffer[...] = -1 if behind != 0 and w.reason.startswith("on") and buffer.nbytes * 9 < memory else buffer

        run_ranks(ranks, work)
        with opened(path, kind, values) as a:
            np.testing.assert_array_equal(a[...], values)


@pytest.mark.parametrize("behind", ["auto", 0, 1])
def test_numbers_are_written_as_an_array_writes_them(tmp_path: Path, behind: Any) -> None:
    with swath.create(tmp_path / "a.raw", 10, "f4", fill=1) as a, a.writer(behind=behind) as w:
        for i, number in enumerate((5.5, 7, True)):
            w.write(number, selection=i)
    assert np.fromfile(tmp_path / "a.raw", "f4")[:4].tolist() == [5.5, 7, 1, 1]


@pytest.mark.parametrize(("rows", "columns", "prefetch"), [(128, 1000, 0), (192, 501, 0), (192, 501, 1)])
def test_blocks_of_other_shapes_at_the_edges_stay_within_the_memory(
    tmp_path: Path, rows: int, columns: int, prefetch: int
) -> None:
    shape, budget = (383, 1000), (2 + prefetch) * rows * columns * 8
    np.zeros(shape).tofile(tmp_path / "a.raw")
    with swath.open(tmp_path / "a.raw", shape=shape, dtype="f8") as a:
        tracemalloc.start()
        try:
            for _, _values in a.blocks((rows, columns), prefetch=prefetch, memory=budget):
                pass
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak <= budget + 200_000


def test_arrays_of_no_dimensions_and_without_elements(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.array(7.0))
    np.save(tmp_path / "none.npy", np.zeros((0, 5)))
    with swath.open(tmp_path / "one.npy") as a:
        ((selection, values),) = a.blocks(())
        assert selection == ()
        assert values[()] == 7
        with pytest.raises(swath.ArgumentError, match="0 dimensions"):
            a.iterate()
    with swath.open(tmp_path / "none.npy") as a:
        assert list(a.blocks((2, None))) == []
        assert list(a.iterate()) == []
        assert [part.shape for part in a.iterate(axis=1)] == [(0,)] * 5


# ---- a large file ----------------------------------------------------------------------------------------------------

ROWS, COLUMNS = 64, 65536
"""Of 8 bytes: half a MiB a row."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("iteration") / "a.raw"
    np.arange(ROWS * COLUMNS, dtype="<f8").tofile(made)
    return made


def large(path: Path, **how: Any) -> swath.Array:
    array: swath.Array = swath.open(path, shape=(ROWS, COLUMNS), dtype="<f8", **how)
    return array


def open_descriptors() -> list[str]:
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]


def threads_of_process() -> int:
    return len(os.listdir("/proc/self/task"))


def wait_for_threads(most: int) -> None:
    until = time.monotonic() + 5
    while threads_of_process() > most and time.monotonic() < until:
        time.sleep(0.005)
    assert threads_of_process() <= most


def compute(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.parametrize("wrong", [(4,), (0, 4), ("a", 4), (4.5, 4), (1, 2, 3)])
def test_blocks_that_cannot_be_are_refused(path: Path, wrong: Any) -> None:
    with large(path) as a, pytest.raises(swath.ArgumentError, match="blocks"):
        a.blocks(wrong)


def test_arguments_that_cannot_be_are_refused(path: Path) -> None:
    with large(path) as a:
        for wrong in ("off", -1, True, 1.5):
            with pytest.raises(swath.ArgumentError, match="prefetch"):
                a.blocks((1, None), prefetch=wrong)  # type: ignore[arg-type]
            with pytest.raises(swath.ArgumentError, match="behind"):
                a.writer(behind=wrong)  # type: ignore[arg-type]
        with pytest.raises(swath.ArgumentError, match="order"):
            a.blocks((1, None), order="A")
        with pytest.raises(swath.ArgumentError, match="the one before it"):
            a.blocks((1, None), memory=MIB - 1)
        with pytest.raises(swath.ArgumentError, match="axis 2"):
            a.iterate(axis=2)


def test_prefetched_reading_is_hidden_behind_computing(path: Path) -> None:
    def seconds(prefetch: Any) -> tuple[float, swath.Counters, str]:
        with large(path, engine="model:p690-scsi") as a:  # 15 ms a row
            a.read(selection=0)
            begun = time.monotonic()
            loop = a.blocks((1, None), prefetch=prefetch)
            for _ in itertools.islice(loop, 30):
                compute(0.015)
            return time.monotonic() - begun, a.counters, loop.reason

    without, plain, _ = seconds(0)
    ahead, hidden, reason = seconds("auto")
    assert ahead < 0.75 * without
    assert plain.hidden_seconds == 0
    assert hidden.hidden_seconds > 0.5 * plain.waited_seconds
    assert hidden.waited_seconds < 0.5 * plain.waited_seconds
    assert hidden.read_bytes == plain.read_bytes == 30 * COLUMNS * 8
    assert reason.startswith("on")


def test_auto_turns_itself_off_where_there_is_nothing_to_hide_behind(path: Path) -> None:
    with large(path, engine="model:p690-scsi") as a:
        loop = a.blocks((1, None))
        for _ in itertools.islice(loop, 20):
            pass
        assert loop.depth == 0
        assert loop.reason.startswith("off")
        assert "too little computing" in loop.reason
        loop.close()


@pytest.mark.parametrize("ending", ["break", "error", "collected", "fault"])
def test_a_loop_that_is_left_leaves_nothing(path: Path, ending: str) -> None:
    engine = "fault:read@9=EIO" if ending == "fault" else "model:xeon-eide"
    with large(path, engine=engine) as a:
        a.read(selection=0)
        threads = threads_of_process()
        raised = 0
        try:
            loop = a.blocks((1, None), prefetch=40)
            for i, _ in enumerate(loop):
                if i == 3 and ending == "break":
                    break
                if i == 3 and ending == "error":
                    raise KeyError
                if i == 3 and ending == "collected":
                    del loop
                    gc.collect()
                    break
            loop = None  # type: ignore[assignment]
        except (KeyError, swath.StoreError):
            raised += 1
            loop = None
        assert raised == (ending in ("error", "fault"))
        wait_for_threads(threads)
        if ending != "fault":
            np.testing.assert_array_equal(a[5, :9], np.arange(9) + 5 * COLUMNS)
    assert not any(str(path) in os.readlink(f"/proc/self/fd/{fd}") for fd in open_descriptors())


def test_no_token_is_left_of_a_loop_that_is_left(path: Path) -> None:
    with large(path, engine="model:xeon-eide", streams=1) as a, large(path, engine="model:xeon-eide", streams=1) as b:
        for _ in a.blocks((1, None), prefetch=20):
            break
        b.read(selection=3)  # would wait for ever


@pytest.mark.parametrize("prefetch", [0, 5])
def test_a_fault_reaches_the_loop_once_and_ends_it(path: Path, prefetch: int) -> None:
    with large(path, engine="fault:read@6=EIO") as a:
        loop = a.blocks((1, None), prefetch=prefetch)
        seen = 0
        with pytest.raises(swath.StoreError):  # noqa: PT012 - which of them raises it
            for _ in loop:
                seen += 1
        assert seen == 6
        assert list(loop) == []
        a.sync()


def test_a_fault_of_a_writer_is_raised_once(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "b.raw"
    copy.write_bytes(path.read_bytes())
    row = np.zeros(COLUMNS)
    for behind in (0, 1, 4, "auto"):
        with large(copy, mode="r+", engine="fault:write@2=ENOSPC") as a:
            raised = 0
            writer = a.writer(behind=behind)
            try:
                with writer:
                    for i in range(10):
                        try:
                            writer.write(row, selection=i)
                        except swath.StoreError:  # noqa: PERF203
                            raised += 1
            except swath.StoreError:
                raised += 1
            assert raised == 1, behind


def test_a_fault_of_one_rank_is_raised_by_all_at_the_same_write(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "b.raw"
    copy.write_bytes(path.read_bytes())

    def work(comm: Any) -> int:
        columns = swath.Distribution((swath.Block(),), grid=(comm.size,))
        engine = "fault:write@1=ENOSPC" if comm.rank == 1 else "posix"
        with large(copy, mode="r+", comm=comm, engine=engine) as a:
            part = np.zeros(columns.local_shape((COLUMNS,), comm.rank))
            writer = a.writer(behind=3)
            for i in range(20):
                try:
                    writer.write(part, columns, selection=i, method="direct")
                except swath.StoreError:  # noqa: PERF203
                    writer.flush()
                    return i
        return -1

    at = run_ranks(3, work)
    assert at[0] == at[1] == at[2] == 1  # simulated ranks are served one thread: nothing is written behind


def test_what_was_written_before_an_error_of_the_block_is_in_the_file(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "b.raw"
    copy.write_bytes(path.read_bytes())
    with large(copy, mode="r+") as a:
        with pytest.raises(KeyError), a.writer(behind=8) as w:  # noqa: PT012
            for i in range(6):
                w.write(np.full(COLUMNS, 5.0), selection=i)
            raise KeyError
        np.testing.assert_array_equal(np.fromfile(copy, count=7 * COLUMNS).reshape(7, -1)[:6], 5.0)


# ---- memory ----------------------------------------------------------------------------------------------------------


def peak_of(work: Any) -> int:
    """Return the growth of the process during the work, in bytes; measured in a child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            before = _status("VmRSS")
            Path("/proc/self/clear_refs").write_text("5")
            work()
            os.write(writer, str(_status("VmHWM") - before).encode())
        finally:
            os._exit(0)
    os.close(writer)
    text = os.read(reader, 100)
    os.close(reader)
    os.waitpid(child, 0)
    return int(text)


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(name)


@pytest.mark.parametrize("kind", ["blocks", "iterate", "writer"])
@pytest.mark.parametrize("budget", [4 * MIB, 16 * MIB])
def test_memory_stays_within_the_budget(path: Path, tmp_path: Path, kind: str, budget: int) -> None:
    copy = tmp_path / "b.raw"
    copy.write_bytes(path.read_bytes())

    def work() -> None:
        with large(copy, mode="r+", engine="model:p690-raid5") as a:
            if kind == "blocks":
                for _, values in a.blocks((1, None), prefetch=50, memory=budget):
                    np.add(values, 1, out=values)
            elif kind == "iterate":
                for values in a.iterate(prefetch=50, memory=budget):
                    np.add(values, 1, out=values)
            else:
                row = np.ones(COLUMNS)
                with a.writer(behind=50, memory=budget) as w:
                    for i in range(ROWS):
                        w.write(row, selection=i)

    assert peak_of(work) <= budget + max(budget // 10, 16 * MIB)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_real_ranks_go_through_loops_and_are_told_the_same_errors(tmp_path: Path, ranks: int) -> None:
    assert run_well(ranks, "iteration_ranks.py", tmp_path / "a.raw").count("well") == ranks


INTERRUPTED = """
import signal, sys, time, numpy as np, swath
with swath.open(sys.argv[1], shape=(64, 65536), dtype="<f8", engine="model:xeon-eide") as a:
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in a.blocks((16, None), prefetch=1):
            pass
    except KeyboardInterrupt:
        begun = time.monotonic()
        assert a[0, 1] == 1
        print("interrupted", flush=True)
"""


def test_an_interrupt_ends_a_loop_that_waits(path: Path) -> None:
    begun = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout == "interrupted\n", ended.stderr
    assert ended.stderr == ""
    assert time.monotonic() - begun < 30
