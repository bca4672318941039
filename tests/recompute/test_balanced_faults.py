"""`swath.Balanced` under faults: full disks, changed files, forks, signals, threads, two runs at once.

In every case, the values of the loop are those that `produce` makes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.errors import ArgumentError, Error
from swath.simulated import run_ranks

Values = np.ndarray[Any, np.dtype[Any]]
BATCHES, ELEMENTS = 20, 4000
SIZES = [ELEMENTS] * BATCHES


def produce(batch: int) -> Values:
    return np.arange(ELEMENTS, dtype=np.float64) * 3 + batch


def seen_in(loop: Any) -> list[int]:
    seen = []
    for batch, values in loop:
        np.testing.assert_array_equal(values, produce(batch))
        seen.append(batch)
    return seen


def all_of(balanced: swath.Balanced) -> None:
    assert sorted(seen_in(balanced)) == balanced.batches


def stored(path: Path, **options: Any) -> swath.Balanced:
    """Keep all batches on disk, none in memory."""
    return swath.Balanced(produce, SIZES, **{"path": path, "disk": 1.0, "memory": 0, **options})


def tasks() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path) -> Iterator[None]:
    """No thread, and no hidden file, is left."""
    before = tasks()
    yield
    gc.collect()
    until = time.monotonic() + 5  # a thread that has ended is in the list a little longer
    while tasks() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert tasks() <= before
    assert [path.name for path in tmp_path.rglob(".*")] == []


def _mounted_tmpfs(folder: Path, nbytes: int) -> None:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={nbytes}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("no tmpfs can be mounted here")


@pytest.mark.parametrize("disk", ["auto", 1.0])
@pytest.mark.parametrize("key", [None, "k"])
def test_a_disk_that_is_full_in_the_middle(tmp_path: Path, disk: Any, key: str | None) -> None:
    folder = tmp_path / "small"
    _mounted_tmpfs(folder, 8 * 8 * ELEMENTS)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with stored(folder / "b", disk=disk, key=key) as balanced:
                for _ in range(4):
                    all_of(balanced)
                if disk == 1.0:
                    assert 0 < balanced.iterations[-1].batches_read <= 8
                    assert any("No space left" in note for note in balanced.plan.notes)
        assert len([one for one in said if issubclass(one.category, UserWarning)]) <= 1
        if key is not None:  # what there was room for is kept, if there is room to say so
            assert len(os.listdir(folder)) <= 1
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    ("engine", "iterations"),
    [
        ("fault:read@3=EIO,engine=posix", 3),
        ("fault:read@0=EIO,read@1=EIO,read@4=EIO,read@5=EIO,engine=posix", 4),
        ("fault:write@1=EIO,engine=posix", 3),
    ],
)
def test_a_disk_that_fails(tmp_path: Path, engine: str, iterations: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with stored(tmp_path / "b", engine=engine) as balanced:
            for _ in range(iterations):
                all_of(balanced)
            assert balanced.plan.notes


def flip(path: Path) -> None:
    with path.open("r+b") as file:
        for place in range(1000, file.seek(0, os.SEEK_END), 4 * 8 * ELEMENTS):
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 0x10]))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("change", [flip, truncate, empty])
@pytest.mark.parametrize("order", ["free", "given"])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, change: Callable[[Path], None], order: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with stored(tmp_path / "b", order=order) as balanced:
            all_of(balanced)
            (file,) = tmp_path.iterdir()
            loop = iter(balanced)
            first = next(loop)
            np.testing.assert_array_equal(first[1], produce(first[0]))
            change(file)
            assert sorted([first[0], *seen_in(loop)]) == balanced.batches
            for _ in range(2):
                all_of(balanced)


@pytest.mark.parametrize("change", [flip, truncate, empty, lambda path: path.write_bytes(os.urandom(3 * 8 * ELEMENTS))])
def test_a_kept_file_that_was_changed_between_runs(tmp_path: Path, change: Callable[[Path], None]) -> None:
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with stored(tmp_path / "b", key="k") as balanced:
                for _ in range(3):
                    all_of(balanced)
        change(tmp_path / "b")


@pytest.mark.parametrize("other", [{"dtype": ">f8"}, {"dtype": "i8"}, {"key": "l"}])
def test_a_kept_file_of_another_byte_order_dtype_or_key_is_not_read(tmp_path: Path, other: dict[str, Any]) -> None:
    with stored(tmp_path / "b", key="k") as balanced:
        all_of(balanced)
    dtype = np.dtype(other.get("dtype", "f8"))
    again = swath.Balanced(
        lambda batch: produce(batch).astype(dtype), SIZES, path=tmp_path / "b", memory=0, **{"key": "k", **other}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with again as balanced:
            all_of(balanced)
            assert balanced.iterations[0].batches_computed == BATCHES


def test_two_runs_with_the_same_key_at_once(tmp_path: Path) -> None:
    with stored(tmp_path / "b", key="k") as balanced:
        all_of(balanced)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with stored(tmp_path / "b", key="k") as one, stored(tmp_path / "b", key="k") as other:
            for _ in range(2):
                loops = [iter(one), iter(other)]
                for loop in loops:
                    assert sorted(seen_in(loop)) == list(range(BATCHES))
            assert one.iterations[0].batches_computed == 0
            assert other.iterations[0].batches_computed == BATCHES
    with stored(tmp_path / "b", key="k") as balanced:
        all_of(balanced)
        assert balanced.iterations[0].batches_computed == 0


@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_produce_raises_in_the_third_iteration_is_raised_on_all_ranks(tmp_path: Path, size: int) -> None:
    def work(comm: Any) -> str:
        calls = 0

        def fails(batch: int) -> Values:
            nonlocal calls
            calls += batch == 5
            if batch == 5 and calls == 3:
                raise LookupError("third")
            return produce(batch)

        try:
            with swath.Balanced(fails, SIZES, path=tmp_path / "b", disk=0, memory=0, comm=comm) as balanced:
                for _ in range(4):
                    all_of(balanced)
        except (LookupError, Error) as error:
            assert len(balanced.iterations) == 3
            return str(error)
        return "nothing"

    assert all("third" in said for said in run_ranks(size, work))


def test_produce_may_change_its_array_later(tmp_path: Path) -> None:
    memory = np.empty(ELEMENTS)

    def one_array(batch: int) -> Values:
        memory[:] = produce(batch)
        return memory

    options: list[dict[str, Any]] = [
        {"disk": 1.0, "memory": 0},
        {"disk": 0, "memory": "1GiB"},
        {"disk": 0.5, "memory": 0},
    ]
    for asked in options:
        with swath.Balanced(one_array, SIZES, path=tmp_path / "b", **asked) as balanced:
            for _ in range(3):
                for batch, values in balanced:
                    np.testing.assert_array_equal(values, produce(batch))
                    memory[:] = -1  # what is being written, or kept, is a copy
        memory[:] = -2


@pytest.mark.parametrize("disk", [1.0, 0.5])
def test_values_that_the_program_holds_stay_what_they_were(tmp_path: Path, disk: float) -> None:
    """The memory of reads is used again, but not while the program has a view of it."""
    with stored(tmp_path / "b", disk=disk) as balanced:
        all_of(balanced)
        for _ in range(2):
            held = [(batch, values.reshape(2, -1)[1:, ::2]) for batch, values in balanced]
            for batch, part in held:
                np.testing.assert_array_equal(part, produce(batch).reshape(2, -1)[1:, ::2])


def test_an_inner_loop_ends_the_outer_one_and_says_so(tmp_path: Path) -> None:
    with stored(tmp_path / "b") as balanced:
        all_of(balanced)
        outer = iter(balanced)
        next(outer)
        all_of(balanced)
        with pytest.raises(ArgumentError, match="another iteration has begun"):
            next(outer)
        all_of(balanced)
        loop = iter(balanced)
        next(loop)
    with pytest.raises(ArgumentError, match="closed"):
        next(loop)


def test_a_forked_child_in_mid_loop_goes_on_by_itself(tmp_path: Path) -> None:
    with stored(tmp_path / "b") as balanced:
        all_of(balanced)
        loop = iter(balanced)
        given = [next(loop) for _ in range(3)]
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                assert sorted([*(batch for batch, _ in given), *seen_in(loop)]) == list(range(BATCHES))
                all_of(balanced)
                balanced.close()
                status = 0
            os._exit(status)
        assert sorted([*(batch for batch, _ in given), *seen_in(loop)]) == list(range(BATCHES))
        assert os.waitpid(child, 0)[1] == 0
        all_of(balanced)
        assert balanced.iterations[-1].batches_read == BATCHES


def test_a_child_that_is_forked_while_it_is_written_leaves_the_file_alone(tmp_path: Path) -> None:
    with stored(tmp_path / "b") as balanced:
        loop = iter(balanced)
        given = [next(loop)[0] for _ in range(7)]
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                assert sorted([*given, *seen_in(loop)]) == list(range(BATCHES))
                status = 0
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert sorted([*given, *seen_in(loop)]) == list(range(BATCHES))
        all_of(balanced)
        assert balanced.iterations[-1].batches_read == BATCHES
        assert not balanced.plan.notes


@pytest.mark.parametrize("key", [None, "k"])
def test_ctrl_c_in_the_loop_leaves_nothing(tmp_path: Path, key: str | None) -> None:
    def interrupted(batch: int) -> Values:
        if batch == 9:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        return produce(batch)

    with (
        pytest.raises(KeyboardInterrupt),
        swath.Balanced(interrupted, SIZES, path=tmp_path / "b", disk=1.0, memory=0, key=key) as balanced,
    ):
        all_of(balanced)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("leave", ["break", "raise", "garbage"])
@pytest.mark.parametrize("disk", [1.0, 0.5])
def test_a_loop_that_is_left_while_it_reads_and_writes_leaves_no_thread(
    tmp_path: Path, leave: str, disk: float
) -> None:
    before = tasks()
    with stored(tmp_path / "b", disk=disk) as balanced:
        for number in range(1, 12, 3):
            with contextlib.suppress(KeyError):
                loop = iter(balanced)
                for _ in range(number):
                    batch, values = next(loop)
                    np.testing.assert_array_equal(values, produce(batch))
                if leave == "raise":
                    raise KeyError(batch)
                if leave == "garbage":
                    del loop
                    gc.collect()
            until = time.monotonic() + 5
            while leave == "garbage" and tasks() > before and time.monotonic() < until:
                time.sleep(0.01)
            assert leave != "garbage" or tasks() <= before
        all_of(balanced)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ([], {}),
        ([0, 0, 0], {"disk": 1.0}),
        ([5], {"disk": 1.0, "memory": 0}),
        ([(0, 4), (2, 3), 0, 7], {"disk": "1KiB"}),
        ([3, 5], {"disk": 0, "memory": 0}),
        ([30] * 9, {"disk": "600", "memory": "100"}),
    ],
)
def test_few_batches_empty_ones_and_more_ranks_than_batches(
    tmp_path: Path, size: int, sizes: list[Any], options: dict[str, Any]
) -> None:
    def make(batch: int) -> Values:
        return np.full(sizes[batch], batch + 0.5)

    def work(comm: Any) -> list[int]:
        mine: list[int] = []
        with swath.Balanced(make, sizes, path=tmp_path / "b", comm=comm, **options) as balanced:
            for _ in range(4):
                mine = []
                for batch, values in balanced:
                    np.testing.assert_array_equal(values, make(batch))
                    mine.append(batch)
            assert str(balanced.plan)
        return mine

    assert sorted(batch for mine in run_ranks(size, work) for batch in mine) == list(range(len(sizes)))
