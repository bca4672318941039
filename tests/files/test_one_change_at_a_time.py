"""Changes of one open file: one thread at a time, none by forked children, none interrupted half-way."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import swath

SUFFIXES = ["nc3", "nc4", "h5", "zarr"]
STEPS_BETWEEN = int(os.environ.get("SWATH_INTERRUPT_STEPS", "61"))
"""A signal comes after each of this many lines of Swath's Python code. 1 takes some minutes per case."""
OF_SWATH = os.path.dirname(swath.__file__)


def new_file(path: Path, records: int) -> None:
    with swath.create_file(path) as file:
        t = file.create("t", (None, 5), "f4", dimensions=("time", "x"))
        u = file.create("u", (None,), "f8", dimensions=("time",))
        for i in range(records):
            t.append(np.full(5, i, "f4"))
            u.append(float(i))


def check_records(path: Path, records: int) -> None:
    assert [name for name in os.listdir(path.parent) if "undo" in name] == []
    with swath.open_file(path) as file:
        np.testing.assert_array_equal(file["t"][...], np.arange(records)[:, None] * np.ones((1, 5)))
        np.testing.assert_array_equal(file["u"][...], np.arange(records))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_threads_append_to_one_array(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 1)
    errors: list[BaseException] = []
    with swath.open_file(path, mode="r+") as file:
        t = file["t"]

        def append(thread: int) -> None:
            try:
                for i in range(10):
                    t.append(np.full(5, 100 * thread + i, "f4"))
                    file.attributes[f"a{thread}"] = i
            except BaseException as error:  # noqa: BLE001 - the test raises it
                errors.append(error)

        threads = [threading.Thread(target=append, args=(1 + thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == []
    with swath.open_file(path) as file:
        values = file["t"][...]
        assert {name: int(value) for name, value in file.attributes.items() if name[0] == "a"} == {
            f"a{thread}": 9 for thread in range(1, 5)
        }
    assert (values == values[:, :1]).all()
    assert sorted(values[1:, 0]) == [100 * thread + i for thread in range(1, 5) for i in range(10)]


def is_refused(change: Callable[[], Any]) -> bool:
    try:
        change()
    except swath.ArgumentError as error:
        return "open the file again here" in str(error)
    return False


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_forked_child_changes_nothing_of_an_open_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    new_file(path, 2)
    with swath.open_file(path, mode="r+") as file:
        file["t"].append(np.full(5, 2, "f4"))
        changes: list[Callable[[], Any]] = [
            lambda: file["t"].append(np.full(5, 99, "f4")),
            lambda: file.create("v", (3,), "i4", dimensions=("q",)),
            lambda: file.attributes.update({"x": 1}),
            file.sync,
        ]
        child = os.fork()
        if child == 0:
            os._exit(sum(is_refused(change) for change in changes))
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == len(changes)
        file["u"].append(2.0)
        file["t"].append(np.full(5, 3, "f4"))
        file["u"].append(3.0)
        assert list(file) == ["t", "u"]
    check_records(path, 4)


class Interrupt:
    """Sends SIGINT to this process at one line of Swath's code.

    Args:
        at: the number of executed lines before it.
    """

    def __init__(self, at: int) -> None:
        self.at = at
        self.lines = 0
        self.is_sent = False

    @contextmanager
    def sent(self) -> Iterator[None]:
        """Send it in this block."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OF_SWATH):
            return None
        if event == "line":
            self.lines += 1
            if self.lines >= self.at and not self.is_sent:
                self.is_sent = True
                signal.raise_signal(signal.SIGINT)
        return self._trace


def append(file: swath.File) -> None:
    file["t"].append(np.full(5, 3, "f4"))


def create(file: swath.File) -> None:
    file.create("n", (4,), "i4", dimensions=("q",), fill=9)


def attribute(file: swath.File) -> None:
    file.attributes["history"] = "abc" * 100


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("change", [append, create, attribute])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupt_leaves_no_half_of_a_change(
    tmp_path: Path, suffix: str, change: Callable[[swath.File], None]
) -> None:
    at, interrupts = 0, 0
    while True:
        at += STEPS_BETWEEN
        path = tmp_path / f"{at}.{suffix}"
        new_file(path, 3)
        interrupt = Interrupt(at)
        file = swath.open_file(path, mode="r+")
        t, u = file["t"], file["u"]
        try:
            with interrupt.sent():
                change(file)
            assert not interrupt.is_sent, "the interrupt was lost"
        except KeyboardInterrupt:
            interrupts += 1
        if change is append:
            assert t.shape[0] in (3, 4)
            np.testing.assert_array_equal(t[...], np.arange(t.shape[0])[:, None] * np.ones((1, 5)))
        records = t.shape[0] + 1
        t.append(np.full(5, records - 1, "f4"))
        for i in range(3, records):
            u.append(float(i))
        file.close()
        check_records(path, records)
        if not interrupt.is_sent:
            break
    assert interrupts >= 3


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupted_close_lets_go_of_the_file(tmp_path: Path, suffix: str) -> None:
    at, interrupts = 0, 0
    while True:
        at += STEPS_BETWEEN
        path = tmp_path / f"{at}.{suffix}"
        new_file(path, 3)
        interrupt = Interrupt(at)
        file = swath.open_file(path, mode="r+")
        file["t"].append(np.full(5, 3, "f4"))
        file["u"].append(3.0)
        try:
            with interrupt.sent():
                file.close()
        except KeyboardInterrupt:
            interrupts += 1
        file.close()  # of a file that is closed this does nothing
        with swath.open_file(path, mode="r+") as again:
            again["t"].append(np.full(5, 4, "f4"))
            again["u"].append(4.0)
        check_records(path, 5)
        if not interrupt.is_sent:
            break
    assert interrupts >= 3
