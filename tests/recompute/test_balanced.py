"""`swath.Balanced`: every batch once per iteration, with its values, wherever it is kept and whatever fails."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swath
from mpi_runs import run_well
from swath.errors import ArgumentError, Error, NotFoundError
from swath.recompute import batch_file
from swath.recompute.batch_file import UNKNOWN, Kept
from swath.recompute.dealing import Batches
from swath.simulated import run_ranks
from tree import HELPERS

MIB = 1 << 20
Shapes = list[Any]


def expected(batch: int, shape: Any, dtype: Any = "f8") -> np.ndarray[Any, Any]:
    return (np.arange(int(np.prod(shape))).reshape(shape) * 3 + batch).astype(dtype)


class Produce:
    """Computes batches in memory that it uses again, and counts."""

    def __init__(self, shapes: Shapes, dtype: Any = "f8") -> None:
        self.shapes = [s if isinstance(s, tuple) else (s,) for s in shapes]
        self.dtype = dtype
        self.made: list[int] = []
        self._memory: dict[Any, np.ndarray[Any, Any]] = {}

    def __call__(self, batch: int) -> np.ndarray[Any, Any]:
        self.made.append(batch)
        shape = self.shapes[batch]
        values = self._memory.setdefault(shape, np.empty(shape, self.dtype))
        values[...] = expected(batch, shape, self.dtype)
        return values

    def check(self, batch: int, values: np.ndarray[Any, Any]) -> None:
        np.testing.assert_array_equal(values, expected(batch, self.shapes[batch], self.dtype))
        assert values.dtype == self.dtype
        assert not values.flags.writeable


def iterate(balanced: swath.Balanced, produce: Produce) -> list[int]:
    seen = []
    for batch, values in balanced:
        produce.check(batch, values)
        seen.append(batch)
    assert sorted(seen) == balanced.batches
    return seen


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("swath-balanced")]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.one_of(st.integers(0, 3000), st.tuples(st.integers(0, 20), st.integers(1, 20))), max_size=12),
    st.sampled_from(["f8", ">i4", "c16", "u1"]),
    st.sampled_from(["auto", 0, 0.0, 0.5, 1.0, 5000]),
    st.sampled_from(["auto", 0, 40_000]),
    st.sampled_from(["free", "given"]),
)
def test_every_batch_comes_once_an_iteration_with_its_values(
    tmp_path_factory: pytest.TempPathFactory, shapes: Shapes, dtype: str, disk: Any, memory: Any, order: str
) -> None:
    folder = tmp_path_factory.mktemp("balanced")
    produce = Produce(shapes, np.dtype(dtype))
    options = {"disk": disk, "memory": memory, "order": order}
    with swath.Balanced(produce, shapes, path=folder / "b", dtype=dtype, **options) as balanced:
        for _ in range(3):
            seen = iterate(balanced, produce)
            assert order == "free" or seen == sorted(seen)
        assert len(balanced.iterations) == 3
        assert str(balanced.plan)
        json.dumps(balanced.plan.to_dict())
    assert list(folder.iterdir()) == []
    assert threads() == []


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("disk", ["auto", 0.5])
def test_ranks_have_every_batch_once_and_the_same_plan(tmp_path: Path, size: int, disk: Any) -> None:
    shapes = [100 * (1 + batch % 5) for batch in range(23)]

    def work(comm: Any) -> tuple[list[int], Any, Any]:
        produce = Produce(shapes)
        with swath.Balanced(produce, shapes, path=tmp_path / "b", disk=disk, memory=0, comm=comm) as balanced:
            for _ in range(3):
                iterate(balanced, produce)
            return balanced.batches, balanced.plan.curve, balanced.plan.disk_share

    told = run_ranks(size, work)
    assert sorted(batch for mine, _, _ in told for batch in mine) == list(range(23))
    assert all(one[1:] == told[0][1:] for one in told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [1, 2, pytest.param(3, marks=pytest.mark.slow), 4])
def test_ranks_of_mpi_iterate_and_hear_of_an_error(tmp_path: Path, size: int) -> None:
    assert run_well(size, "balanced_ranks.py", tmp_path).count("well") == size
    assert list(tmp_path.iterdir()) == []


def test_a_fixed_share_is_written_first_and_read_then(tmp_path: Path) -> None:
    shapes = [1000] * 40
    produce = Produce(shapes)
    with swath.Balanced(produce, shapes, path=tmp_path / "b", disk=1.0, memory=0) as balanced:
        for _ in range(3):
            iterate(balanced, produce)
        first, _, last = balanced.iterations
        assert (first.batches_computed, first.batches_read) == (40, 0)
        assert (last.batches_computed, last.batches_read, last.bytes_read) == (0, 40, 320_000)
        assert balanced.plan.disk_share == 1.0


def test_memory_keeps_what_it_may_and_the_program_cannot_change_it() -> None:
    produce = Produce([1000] * 10)

    def dear(batch: int) -> Any:
        time.sleep(0.005)
        return produce(batch)

    with swath.Balanced(dear, [1000] * 10, memory=8000 * 4) as balanced:
        iterate(balanced, produce)
        iterate(balanced, produce)
        second = balanced.iterations[1]
        assert 1 <= second.batches_from_memory <= 4  # a busy machine may make others seem dearer
        assert second.batches_computed == 10 - second.batches_from_memory
        for _, values in balanced:
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1


def test_dear_batches_are_computed_once(tmp_path: Path) -> None:
    produce = Produce([20_000] * 8)

    def dear(batch: int) -> Any:
        time.sleep(0.02)
        return produce(batch)

    with swath.Balanced(dear, [20_000] * 8, path=tmp_path / "b", memory=0) as balanced:
        for _ in range(4):
            iterate(balanced, produce)
        assert balanced.iterations[-1].batches_read == 8
        assert balanced.plan.disk_share == 1.0
        assert balanced.iterations[-1].total < 0.1


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_full_disk_is_computed_again_and_said_once(tmp_path: Path) -> None:
    shapes = [1000] * 20
    produce = Produce(shapes)
    engine = "fault:write@5=ENOSPC,engine=posix"
    with swath.Balanced(produce, shapes, path=tmp_path / "b", disk=1.0, memory=0, engine=engine) as balanced:
        with pytest.warns(UserWarning, match="writing failed.*No space left"):
            iterate(balanced, produce)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                iterate(balanced, produce)
        assert 0 < balanced.iterations[-1].batches_computed < 20
        assert any("No space left" in note for note in balanced.plan.notes)
    assert list(tmp_path.iterdir()) == []


def test_a_read_that_fails_is_computed_again(tmp_path: Path) -> None:
    shapes = [1000] * 20
    produce = Produce(shapes)
    engine = "fault:read@7=EIO,engine=posix"
    with swath.Balanced(produce, shapes, path=tmp_path / "b", disk=1.0, memory=0, engine=engine) as balanced:
        iterate(balanced, produce)
        with pytest.warns(UserWarning, match="reading failed.*Input/output error"):
            iterate(balanced, produce)
        iterate(balanced, produce)


def test_what_was_changed_on_disk_is_computed_again(tmp_path: Path) -> None:
    shapes = [1000] * 4
    produce = Produce(shapes)
    with swath.Balanced(produce, shapes, path=tmp_path / "b", disk=1.0, memory=0) as balanced:
        iterate(balanced, produce)
        iterate(balanced, produce)
        (file,) = tmp_path.iterdir()
        with file.open("r+b") as opened:
            opened.write(b"other")
        with pytest.warns(UserWarning, match="batch 0.*is not what was written"):
            iterate(balanced, produce)


@pytest.mark.parametrize("key", [None, "k"])
def test_what_produce_raises_reaches_the_caller_and_leaves_nothing(tmp_path: Path, key: str | None) -> None:
    produce = Produce([100] * 10)

    def fails(batch: int) -> Any:
        if batch == 7:
            raise ZeroDivisionError("seven")
        return produce(batch)

    with (
        pytest.raises(ZeroDivisionError, match="seven"),
        swath.Balanced(fails, [100] * 10, path=tmp_path / "b", disk=1.0, memory=0, key=key) as balanced,
    ):
        iterate(balanced, produce)
    assert list(tmp_path.iterdir()) == []
    assert threads() == []


@pytest.mark.parametrize("size", [2, 3])
def test_what_produce_raises_on_one_rank_is_raised_on_all(tmp_path: Path, size: int) -> None:
    produce = Produce([100] * 12)

    def work(comm: Any) -> str:
        def fails(batch: int) -> Any:
            if batch == 7:
                raise ZeroDivisionError("seven")
            return produce(batch)

        try:
            with swath.Balanced(fails, [100] * 12, path=tmp_path / "b", memory=0, comm=comm) as balanced:
                for _ in range(2):
                    for _ in balanced:
                        pass
        except (ZeroDivisionError, Error) as error:
            return f"{type(error).__name__}: {error}"
        return "nothing"

    told = run_ranks(size, work)
    assert all("seven" in said for said in told), told
    assert sum(said.startswith("ZeroDivisionError") for said in told) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_exception_in_the_body_of_one_rank_reaches_the_others(tmp_path: Path) -> None:
    def work(comm: Any) -> str:
        produce = Produce([100] * 9)
        try:
            with swath.Balanced(produce, [100] * 9, path=tmp_path / "b", comm=comm) as balanced:
                for _ in balanced:
                    if comm.rank == 1:
                        raise KeyError("body")
        except (KeyError, Error) as error:
            return str(error)
        return "nothing"

    assert all("body" in said for said in run_ranks(3, work))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [1, 2])
def test_a_loop_may_be_left_early_and_begun_again(tmp_path: Path, size: int) -> None:
    def work(comm: Any) -> None:
        produce = Produce([1000] * 12)
        with swath.Balanced(produce, [1000] * 12, path=tmp_path / "b", disk=1.0, memory=0, comm=comm) as balanced:
            for number in (0, 1, 3):
                for given, (batch, values) in enumerate(balanced):
                    produce.check(batch, values)
                    if given == number:
                        break
                assert size > 1 or threads() == []
            iterate(balanced, produce)
            iterate(balanced, produce)
            assert [one.is_whole for one in balanced.iterations] == [False, False, False, True, True]

    run_ranks(size, work)


def test_garbage_in_mid_loop_leaves_no_thread_and_no_file(tmp_path: Path) -> None:
    produce = Produce([1000] * 12)
    balanced = swath.Balanced(produce, [1000] * 12, path=tmp_path / "b", disk=1.0, memory=0)
    iterate(balanced, produce)
    loop = iter(balanced)
    next(loop)
    kept = [loop, balanced]
    del loop, balanced
    with pytest.warns(ResourceWarning, match="never closed"):
        kept.clear()
    gc.collect()
    assert threads() == []
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_leaves_the_file_to_its_parent(tmp_path: Path) -> None:
    produce = Produce([1000] * 6)
    with swath.Balanced(produce, [1000] * 6, path=tmp_path / "b", disk=1.0, memory=0) as balanced:
        iterate(balanced, produce)
        for iterates in (False, True):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    if iterates:
                        iterate(balanced, produce)
                        status = balanced.iterations[-1].batches_written
                    balanced.close()
                finally:
                    os._exit(status if iterates else 0)
            assert os.waitpid(child, 0)[1] == 0
            iterate(balanced, produce)
            assert balanced.iterations[-1].batches_read > 0


def test_a_forked_child_writes_nothing_to_a_file_that_its_parent_has_not_filled(tmp_path: Path) -> None:
    produce = Produce([1000] * 6)
    with swath.Balanced(produce, [1000] * 6, path=tmp_path / "b", disk=1.0, memory=0) as balanced:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                iterate(balanced, produce)
                status = balanced.iterations[-1].batches_written
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        iterate(balanced, produce)
        assert balanced.iterations[-1].batches_written == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"disk": 1.5}, "disk=1.5"),
        ({"disk": -1}, "disk=-1"),
        ({"disk": True}, "disk=True"),
        ({"disk": "many"}, "many"),
        ({"memory": "some"}, "memory"),
        ({"memory": -1}, "memory"),
        ({"order": "any"}, "order"),
        ({"key": 3}, "key"),
        ({"dtype": "O"}, "dtype"),
        ({"dtype": "no such"}, "dtype"),
        ({"path": None, "key": "k"}, "path"),
        ({"path": None, "disk": 0.5}, "path"),
    ],
)
def test_arguments_that_cannot_be_are_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        swath.Balanced(Produce([5]), [5], **{"path": tmp_path / "b", **options})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        swath.Balanced(Produce([5]), [5], path=tmp_path / "none" / "b")


@pytest.mark.parametrize("wrong", [np.zeros(4), np.zeros((1, 5)), np.zeros(5, "f4"), [0.0] * 5, None])
def test_values_of_another_shape_or_dtype_are_refused(wrong: Any) -> None:
    with swath.Balanced(lambda batch: wrong, [5]) as balanced, pytest.raises(ArgumentError, match=r"produce\(0\)"):
        list(balanced)


def test_ranks_that_ask_for_different_batches_hear_of_it(tmp_path: Path) -> None:
    def work(comm: Any) -> None:
        with pytest.raises(swath.DisagreementError, match="sizes"):
            swath.Balanced(Produce([5]), [5 + comm.rank], path=tmp_path / "b", comm=comm)

    run_ranks(2, work)


# ---- the next run ----------------------------------------------------------------------------------------------------


def run(path: Path, key: str | None, shapes: Shapes, dtype: str = "f8", comm: Any = None) -> int:
    """Run two iterations; return the number of computed batches."""
    produce = Produce(shapes, np.dtype(dtype))
    options: dict[str, Any] = {"path": path, "key": key, "dtype": dtype, "disk": 1.0, "memory": 0, "comm": comm}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with swath.Balanced(produce, shapes, **options) as balanced:
            for _ in range(2):
                iterate(balanced, produce)
    return len(produce.made)


def test_the_next_run_reads_what_the_last_one_kept(tmp_path: Path) -> None:
    path, shapes = tmp_path / "b", [500] * 10
    assert run(path, "k", shapes) >= 10
    assert [file.name for file in tmp_path.iterdir()] == ["b"]
    assert run(path, "k", shapes) == 0
    told = run_ranks(3, lambda comm: run(path, "k", shapes, comm=comm))
    assert told == [0, 0, 0]
    assert [file.name for file in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize(
    "other", [{"key": "l"}, {"shapes": [500] * 9 + [501]}, {"dtype": "i8"}, {"shapes": [250] * 20}]
)
def test_a_file_of_something_else_is_made_anew(tmp_path: Path, other: dict[str, Any]) -> None:
    same: dict[str, Any] = {"key": "k", "shapes": [500] * 10, "dtype": "f8"}
    run(tmp_path / "b", **same)
    now = {**same, **other}
    assert run(tmp_path / "b", **now) >= len(now["shapes"])
    assert run(tmp_path / "b", **now) == 0


@pytest.mark.parametrize("cut", [1, 24, 40, 500, 20_000])
def test_a_torn_file_is_never_used(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "b"
    run(path, "k", [500] * 10)
    os.truncate(path, path.stat().st_size - cut)
    assert run(path, "k", [500] * 10) >= 10


def test_a_damaged_batch_of_the_last_run_is_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "b"
    run(path, "k", [500] * 10)
    with path.open("r+b") as file:
        file.seek(3)
        file.write(b"!")
    assert 1 <= run(path, "k", [500] * 10) < 5


KILLED = """
import os, sys, numpy as np, swath
with swath.Balanced(lambda b: np.full(500, 1.0), [500] * 10, path=sys.argv[1], key="k", disk=0.8, memory=0) as b:
    for _ in range(3):
        for _ in b: pass
    os.kill(os.getpid(), 9)
"""


ENDED = """
import sys, numpy as np, swath
b = swath.Balanced(lambda b: np.full(500, 1.0), [500] * 10, path=sys.argv[1], disk=1.0, memory=0)
for _ in b: pass
"""


def test_a_program_that_ends_without_closing_leaves_no_file_and_is_told_so(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "always", "-c", ENDED, str(tmp_path / "b")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "never closed" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_moves_from_memory_to_disk_keeps_its_price(tmp_path: Path) -> None:
    """A file records the computing time, also for a batch that was in memory when it was written."""

    def produce(batch: int) -> np.ndarray[Any, Any]:
        time.sleep(0.01 if batch > 3 else 0.003)
        return np.full(20_000, float(batch))

    path = tmp_path / "b"
    with swath.Balanced(produce, [20_000] * 10, path=path, memory="2MiB", key="a") as balanced:
        for _ in range(4):
            for _ in balanced:
                pass
        stored = dict(balanced._own.stored)
    assert stored
    assert all(one.seconds >= 0.003 for one in stored.values()), stored


def test_seconds_that_nobody_knows_are_none_in_the_next_run(tmp_path: Path) -> None:
    path, two = tmp_path / "b", Batches.of([500] * 2, "f8")
    batch_file.complete(batch_file.make(path, two), two, "k", {0: Kept(1, UNKNOWN), 1: Kept(2, 0.5)})
    earlier, _ = batch_file.find_earlier(str(path), two, "k")
    assert earlier is not None
    assert np.isnan(earlier.kept[0].seconds)
    assert earlier.kept[1].seconds == 0.5


def test_a_killed_run_leaves_no_file_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "b"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, check=False)
    assert ended.returncode == -9, ended.stderr
    assert not path.exists()
    assert run(path, "k", [500] * 10) >= 10


def test_a_share_that_grows_in_the_next_run_is_added(tmp_path: Path) -> None:
    produce = Produce([500] * 10)
    for share, computed in ((0.5, 5), (1.0, 0)):
        options: dict[str, Any] = {"path": tmp_path / "b", "key": "k", "memory": 0, "disk": share}
        with swath.Balanced(produce, [500] * 10, **options) as balanced:
            for _ in range(4):
                iterate(balanced, produce)
            assert balanced.iterations[-1].batches_computed == computed
    produce.made.clear()
    with swath.Balanced(produce, [500] * 10, path=tmp_path / "b", key="k", memory=0, disk=1.0) as balanced:
        iterate(balanced, produce)
    assert produce.made == []


# ---- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [0, 32 * MIB])
def test_peak_memory_is_the_budget_and_little_more(tmp_path: Path, memory: int) -> None:
    command = [sys.executable, str(HELPERS / "balanced_memory_program.py"), str(tmp_path / "b"), str(memory)]
    # What is freed goes back to the system at once: else the C library's own keeping, another each time, is measured.
    own = {"PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path]), "MALLOC_MMAP_THRESHOLD_": "65536"}
    environment = {**os.environ, **own}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    measured = json.loads(ended.stdout)
    assert measured["from_memory"] > 0 or memory == 0
    assert measured["read"] > 0
    assert measured["peak"] <= memory + max(0.1 * memory, 16 * MIB), measured
