"""Ctrl-C during an append: the record exists or not, nothing stays open, and the next append works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.array.open_array import Array
from swath.formats import hdf5
from swath.formats.signals import handlers_raise_later
from swath.formats.undo import UndoableFile
from tree import HELPERS

h5py = pytest.importorskip("h5py")

OF_A_FILE = ("seek", "read", "write", "truncate", "tell", "flush")
"""The methods of a file that h5py calls during a change: for elements that only HDF5's library can write."""
OF_THE_CORE = ("extend", "set_length")
"""The functions of the core that an append calls."""


class ToldError(Exception):
    """The exception of a signal handler of the program."""


def new_file(path: Path) -> tuple[Any, Any]:
    """Make a file with one record of ones, and return it and the growing array."""
    file = swath.create_file(path)
    t = file.create("t", (None, 4), "f4", dimensions=("time", "x"))
    t.append(np.ones(4, "f4"))
    file.sync()
    return file, t


def rows(path: Path) -> list[list[float]]:
    with swath.open_file(path) as file:
        found: list[list[float]] = file["t"][...].tolist()
        assert file.dimensions["time"].length == len(found)
        return found


def times_open(path: Path) -> int:
    numbers = os.listdir("/proc/self/fd")
    return sum(os.path.realpath(f"/proc/self/fd/{number}") == os.path.realpath(path) for number in numbers)


def sends_itself(which: int, number: int, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that gets a signal at this call."""
    calls = 0

    def called(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            os.kill(os.getpid(), which)
        return method(*given, **named)

    return called


@pytest.fixture
def told() -> Iterator[None]:
    """Let SIGUSR1 raise an error of the program's own."""

    def tell(*_: object) -> None:
        raise ToldError

    before = signal.signal(signal.SIGUSR1, tell)
    yield
    assert signal.signal(signal.SIGUSR1, before) is tell


@pytest.mark.parametrize("error", [KeyboardInterrupt, ToldError])
@pytest.mark.parametrize("suffix", ["nc3", "nc4", "h5", "zarr"])
def test_an_interrupted_record_is_taken_back(tmp_path: Path, suffix: str, error: type[BaseException]) -> None:
    path = tmp_path / f"a.{suffix}"
    file, t = new_file(path)

    def write(*_: Any, **__: Any) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Array, "_write", write)
        with pytest.raises(error):
            t.append(np.full(4, 2, "f4"))
    assert t.shape == (1, 4)
    file.close()
    assert rows(path) == [[1.0] * 4]
    with swath.open_file(path, mode="r+") as file:
        file["t"].append(np.full(4, 3, "f4"))
    assert rows(path) == [[1.0] * 4, [3.0] * 4]


@pytest.mark.parametrize(("which", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGUSR1, ToldError)])
@pytest.mark.parametrize("name", OF_A_FILE)
@pytest.mark.usefixtures("told")
def test_a_signal_while_h5py_is_at_work_is_raised_as_it_is(
    tmp_path: Path, name: str, which: int, error: type[BaseException]
) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as made:
        made.create_dataset("t", data=np.ones(4, "i4"), chunks=(4,), scaleoffset=8)
    raised = 0
    for number in range(1, 6):
        with swath.open_file(path, mode="r+") as file:
            t = file["t"]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(UndoableFile, name, sends_itself(which, number, getattr(UndoableFile, name)))
                try:
                    t[...] = np.full(4, 2, "i4")
                except error:
                    raised += 1
            assert t[...].tolist() in ([1] * 4, [2] * 4)  # it may be there when the interrupt comes
            t[...] = np.ones(4, "i4")
            assert t[...].tolist() == [1] * 4
    assert raised > 0


@pytest.mark.parametrize(("which", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGUSR1, ToldError)])
@pytest.mark.parametrize("name", OF_THE_CORE)
@pytest.mark.usefixtures("told")
def test_a_signal_while_a_file_is_changed_is_raised_as_it_is(
    tmp_path: Path, name: str, which: int, error: type[BaseException]
) -> None:
    path = tmp_path / "a.h5"
    file, t = new_file(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hdf5, name, sends_itself(which, 1, getattr(hdf5, name)))
        with pytest.raises(error):
            t.append(np.full(4, 2, "f4"))
    appended = [[2.0] * 4] * (t.shape[0] - 1)  # it may be there when the interrupt comes
    t.append(np.full(4, 3, "f4"))
    file.close()
    assert rows(path) == [[1.0] * 4, *appended, [3.0] * 4]


def test_a_program_ends_well_after_a_signal_while_hdf5_was_at_work(tmp_path: Path) -> None:
    """The library's property lists were freed after the end of Python."""
    program = f"""
import sys; sys.path[:0] = {[str(HELPERS), str(Path(__file__).parent)]!r}
from pathlib import Path
from test_append_interrupts import *
file, t = new_file(Path({str(tmp_path / "a.h5")!r}))
hdf5.extend = sends_itself(signal.SIGINT, 1, hdf5.extend)
try:
    t.append(np.full(4, 2, "f4"))
except KeyboardInterrupt as error:
    kept = error
    print("interrupted")
file.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_handler_that_raises_nothing_lets_the_record_be_appended(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    file, t = new_file(path)
    told: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: told.append(number))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hdf5, "extend", sends_itself(signal.SIGUSR1, 1, hdf5.extend))
            t.append(np.full(4, 2, "f4"))
    finally:
        signal.signal(signal.SIGUSR1, before)
    file.close()
    assert told == [signal.SIGUSR1]
    assert rows(path) == [[1.0] * 4, [2.0] * 4]


def test_an_interrupt_before_hdf5_is_at_work_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    file, t = new_file(path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    open_before = times_open(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hdf5, "extend", interrupted)
        with pytest.raises(KeyboardInterrupt) as raised:
            t.append(np.full(4, 2, "f4"))
    assert raised.value is not None  # it, and what it was raised in, is kept
    assert times_open(path) == open_before
    t.append(np.full(4, 3, "f4"))
    file.close()
    assert rows(path) == [[1.0] * 4, [3.0] * 4]


@pytest.mark.usefixtures("told")
def test_handlers_are_what_they_were(tmp_path: Path) -> None:
    def others() -> list[Any]:
        return [signal.getsignal(number) for number in signal.valid_signals()]

    before, taken = others(), list[BaseException]()
    with handlers_raise_later(taken.append):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert others() != before
    assert others() == before
    assert [type(error) for error in taken] == [ToldError]

    def in_thread() -> None:
        with handlers_raise_later(taken.append):
            assert others() == before

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
