"""Signals during waits: long operations end soon after one, leave nothing behind, and describe what they wait for."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import numpy as np
import pytest

import swath
from interrupt_program import CASES
from kernels import needs_cachestat
from swath import simulated
from swath.files import library_access
from swath.formats import LibraryLayout
from tree import HELPERS

PROGRAM = HELPERS / "interrupt_program.py"
SOON_SECONDS = 8.0
"""The documents promise one second; the machine may be busy. No operation would be finished by then."""
HANGS_SECONDS = 240


class Program:
    """The running program of a case."""

    def __init__(self, case: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", str(PROGRAM), case, str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said: list[str] = []

    def wait_for(self, wanted: str) -> str:
        """Return the line in which the program reports it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if wanted in line:
                return line
        raise AssertionError(f"it never said {wanted!r}:\n{''.join(self.said)}")

    def interrupt(self, *, insists: bool = False) -> float:
        """Return the seconds until it reports the interrupt; `insists`: send a second signal after 3 seconds."""
        begin = time.monotonic()
        again = threading.Timer(3, self.process.send_signal, [signal.SIGINT])
        self.process.send_signal(signal.SIGINT)
        if insists:
            again.start()
        self.wait_for("interrupted by")
        again.cancel()
        return time.monotonic() - begin


@contextmanager
def running(case: str, folder: Path) -> Iterator[Program]:
    program = Program(case, folder)
    try:
        yield program
    finally:
        program.process.kill()
        program.process.wait()


@pytest.mark.timeout(HANGS_SECONDS)
@pytest.mark.parametrize("case", sorted(CASES.keys() - {"lock"}))
def test_an_interrupt_ends_a_long_operation_and_leaves_nothing_behind(case: str, tmp_path: Path) -> None:
    if case == "library":
        pytest.importorskip("h5py")
    with running(case, tmp_path) as program:
        program.wait_for("ready")
        time.sleep(0.7)
        # Python drops an exception of a handler in a weak reference's callback; h5py has many of these: 1 of 50.
        seconds = program.interrupt(insists=case == "library")
        expected = "ToldError" if case.startswith("own-handler") else "KeyboardInterrupt"
        assert program.said[-1] == f"interrupted by {expected}\n"
        assert seconds < SOON_SECONDS
        program.wait_for("all right")
        assert program.process.wait(60) == 0


@pytest.mark.timeout(HANGS_SECONDS)
def test_a_wait_for_a_lock_says_whom_it_waits_for_and_can_be_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "locked.raw"
    np.arange(2000.0).tofile(path)
    with open(path, "r+b") as file, running("lock", tmp_path) as program:
        fcntl.lockf(file, fcntl.LOCK_EX)
        program.wait_for("ready")
        line = program.wait_for("WaitWarning")
        assert re.search(rf"lock {re.escape(str(path))} \[0, \d+\): waiting for process {os.getpid()}\b", line), line
        assert program.interrupt() < SOON_SECONDS
        fcntl.lockf(file, fcntl.LOCK_UN)
        program.wait_for("all right")
        assert sum("WaitWarning: lock" in line for line in program.said) == 1


def write_half(path: Path, **how: object) -> None:
    with swath.open(path, mode="r+", shape=2000, dtype="f8", **how) as a:  # type: ignore[arg-type]
        a.write(np.full(1000, -1.0), selection=np.s_[::2], method="sieve")


def lock(file: IO[bytes], begin: int = 0, length: int = 0) -> None:
    """Lock the open file, not the process: a process loses its locks with any descriptor that it closes."""
    # struct flock; a length of 0 means the whole file.
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, begin, length, 0))


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """Make a locked file of 2,000 numbers."""
    path = tmp_path / "locked.raw"
    np.arange(2000.0).tofile(path)
    with open(path, "r+b") as file:
        lock(file)
        yield path


def test_a_wait_for_a_lock_is_bounded_by_lock_timeout(locked: Path) -> None:
    with pytest.raises(swath.StoreError, match=r"lock .*locked.raw \[0, \d+\): .*process \d+ \(this one\)") as raised:
        write_half(locked, lock_timeout=0.3)
    assert raised.value.errno == errno.ETIMEDOUT
    assert np.array_equal(np.fromfile(locked), np.arange(2000.0))


def test_a_wait_for_a_lock_is_bounded_by_the_environment(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWATH_LOCK_TIMEOUT", "0.3")
    with pytest.raises(swath.StoreError, match="lock_timeout"):
        write_half(locked)
    monkeypatch.setenv("SWATH_LOCK_TIMEOUT", "never")
    with pytest.raises(swath.ArgumentError, match=r"\$SWATH_LOCK_TIMEOUT: .* not 'never'"):
        write_half(locked)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "soon", True])
def test_a_lock_timeout_that_is_none_is_refused(tmp_path: Path, seconds: object) -> None:
    path = tmp_path / "numbers.raw"
    np.arange(2000.0).tofile(path)
    with pytest.raises(swath.ArgumentError, match="lock_timeout"):
        write_half(path, lock_timeout=seconds)
    with pytest.raises(swath.ArgumentError, match="lock_timeout"):
        swath.create(tmp_path / "new.raw", 10, "f8", lock_timeout=seconds)  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["numbers.raw"]


def test_ranks_that_wait_for_a_lock_are_bounded_together(tmp_path: Path) -> None:
    path = tmp_path / "table.raw"
    before = np.arange(4000.0).reshape(1000, 4)
    before.tofile(path)
    with open(path, "r+b") as file:
        lock(file, 20_000, 100)  # of rank 1's half

        def work(comm: object) -> str:
            with swath.open(path, mode="r+", shape=(1000, 4), dtype="f8", comm=comm, lock_timeout=0.3) as a:
                halves = swath.Distribution((swath.Block(), swath.Whole()), grid=(2, 1))
                values = np.full((500, 2), -1.0)
                with pytest.raises(swath.StoreError) as raised:
                    a.write(values, halves, selection=np.s_[:, ::2], method="sieve")
                return str(raised.value)

        texts = simulated.run_ranks(2, work)
    assert texts[0] == texts[1]
    assert texts[0].startswith(f"rank 1: lock {path} [16000, ")
    assert np.array_equal(np.fromfile(path).reshape(1000, 4)[500:], before[500:])


@needs_cachestat
@pytest.mark.timeout(HANGS_SECONDS)
def test_a_file_cut_within_its_last_page_never_reads_as_zeros(tmp_path: Path) -> None:
    """A thread reads while the file is cut: every value was in the file, or there is an error."""
    path = tmp_path / "numbers.raw"
    elements = 1 << 16
    reads = (
        "import sys, numpy as np, swath\n"
        "a = swath.open(sys.argv[1], shape=int(sys.argv[2]), dtype='f8')\n"
        "print('ready', flush=True)\n"
        "wrong = 0\n"
        "try:\n"
        "    while True:\n"
        "        wrong += int((a[::3] == 0).sum())\n"
        "except swath.StoreError as error:\n"
        "    print('wrong', wrong, error)\n"
    )
    delays = random.Random(1)
    for _ in range(20):
        np.ones(elements).tofile(path)
        with subprocess.Popen(
            [sys.executable, "-c", reads, str(path), str(elements)], stdout=subprocess.PIPE, text=True
        ) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
            time.sleep(delays.uniform(0, 0.02))
            os.truncate(path, elements * 8 - 1000)
            said = reader.stdout.read()
        assert said.startswith("wrong 0 "), said
        assert "end of file" in said


def test_calls_of_a_library_are_short_and_end_between_chunks() -> None:
    def rows_of(chunk_shape: tuple[int, ...] | None, row_elements: int, indices: np.ndarray) -> list[tuple[int, int]]:
        layout = LibraryLayout("for a test", chunk_shape)
        description = SimpleNamespace(layout=layout, dtype=np.dtype("f8"))
        slabs = library_access._slabs(description, [indices, np.arange(row_elements)])  # type: ignore[arg-type]
        return [(box[0].start, box[0].stop) for _, box, _ in slabs]

    rows = np.arange(50, 1000)
    row_elements = (16 << 20) // 8 // 250  # 250 rows are 16 MiB
    assert rows_of(None, row_elements, rows) == [(50, 300), (300, 550), (550, 800), (800, 1000)]
    assert rows_of((100, 7), row_elements, rows) == [(50, 300), (300, 500), (500, 700), (700, 900), (900, 1000)]
    # A row of chunks is read at once: otherwise each would be decoded twice. But 64 MiB are enough.
    assert rows_of((400, 7), row_elements, rows) == [(50, 400), (400, 800), (800, 1000)]
    assert rows_of((5000, 7), row_elements, np.arange(3000)) == [(0, 1000), (1000, 2000), (2000, 3000)]
    assert rows_of((100, 7), row_elements, rows[::-1]) == [(750, 1000), (500, 750), (250, 500), (50, 250)]
