"""The program that is interrupted: one long operation, then checks that everything can be used again.

    python interrupt_program.py CASE FOLDER

Prints "ready" before the operation, "interrupted by NAME" after its exception, and "all right" if nothing is left.
Every
operation takes much longer than its test waits: on a modelled disk of 23 MB/s, or because it is so large.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import swath

SLOW = "model:xeon-eide"
ROWS = 1 << 21
COLUMNS = 8
HUGE = 1 << 35
"""Elements of a sparse file: 256 GiB, which take no space."""


class ToldError(Exception):
    """The exception of a signal handler of the program."""


def interrupted(work: Callable[[], Any]) -> None:
    """Run `work`, which a signal must end."""
    print("ready", flush=True)
    try:
        work()
    except (KeyboardInterrupt, ToldError) as error:
        print(f"interrupted by {type(error).__name__}", flush=True)
    else:
        raise AssertionError("the operation came to its end")
    assert threading.enumerate() == [threading.main_thread()], threading.enumerate()


def file_of_holes(folder: Path, elements: int) -> Path:
    """The first 1,000 elements count from 1; the rest is zeros."""
    path = folder / "holes.raw"
    with open(path, "wb") as file:
        np.arange(1.0, 1001.0).tofile(file)
        file.truncate(elements * 8)
    return path


def read_again(path: Path, elements: int, engine: str | None = None) -> None:
    with swath.open(path, shape=elements, dtype="f8", engine=engine) as a:
        np.testing.assert_array_equal(a[:1001], [*range(1, 1001), 0])


def read_by_method(folder: Path, method: str) -> None:
    """Read from a slow disk; afterwards the same array reads right values."""
    path = file_of_holes(folder, 1 << 28)
    with swath.open(path, shape=1 << 28, dtype="f8", engine=SLOW) as a:
        interrupted(lambda: a.read(selection=np.s_[::1024], method=method))
        for again in ("direct", "list", "sieve", "two-phase"):
            np.testing.assert_array_equal(a.read(selection=np.s_[:1000:2], method=again), np.arange(1.0, 1001.0, 2))


def read_by_engine(folder: Path, engine: str) -> None:
    """The read is so large that it takes long: the file has holes in memory, which take no space."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        path = file_of_holes(Path(memory), HUGE)
        with swath.open(path, shape=HUGE, dtype="f8", engine=engine) as a:
            interrupted(lambda: a[::512])
            np.testing.assert_array_equal(a[:1000:2], np.arange(1.0, 1001.0, 2))


def write_by_method(folder: Path, method: str) -> None:
    """Three columns of eight are written; the others are gaps."""
    path = folder / "table.raw"
    before = np.arange(float(ROWS * COLUMNS)).reshape(ROWS, COLUMNS)
    before.tofile(path)
    values = np.full((ROWS, 3), -1.0)
    with swath.open(path, mode="r+", shape=(ROWS, COLUMNS), dtype="f8", engine=SLOW) as a:
        interrupted(lambda: a.write(values, selection=np.s_[:, 2:5], method=method))
        now = np.fromfile(path).reshape(ROWS, COLUMNS)
        is_new = now[:, 2:5] == -1
        assert np.array_equal(now[:, :2], before[:, :2]), "gaps have changed"
        assert np.array_equal(now[:, 5:], before[:, 5:]), "gaps have changed"
        assert ((now[:, 2:5] == before[:, 2:5]) | is_new).all(), "neither old nor new"
        assert is_new.any()
        assert not is_new.all()
    with swath.open(path, mode="r+", shape=(ROWS, COLUMNS), dtype="f8") as a:
        a.write(values, selection=np.s_[:, 2:5], method=method)
    before[:, 2:5] = -1
    assert np.array_equal(np.fromfile(path).reshape(ROWS, COLUMNS), before)


def wait_for_lock(folder: Path) -> None:
    """The test holds the lock; it releases it after the interrupt."""
    path = folder / "locked.raw"
    before = np.fromfile(path)
    with swath.open(path, mode="r+", shape=before.size, dtype="f8") as a:
        interrupted(lambda: a.write(np.full(500, -1.0), selection=np.s_[:1000:2], method="sieve"))
        assert np.array_equal(np.fromfile(path), before)
        a.write(np.full(500, -1.0), selection=np.s_[:1000:2], method="sieve")
        before[:1000:2] = -1
        assert np.array_equal(np.fromfile(path), before)


def own_status() -> swath.throttle.TargetStatus:
    """Return the status of the one target of this process."""
    (status,) = [s for s in swath.throttle.status() if s.scope.startswith(f"process {os.getpid()} ")]
    return status


def wait_for_token(folder: Path) -> None:
    """Another thread holds the token."""
    let_go = threading.Event()
    is_held = threading.Event()

    def hold() -> None:
        with swath.stream(folder, streams=1):
            is_held.set()
            let_go.wait(120)

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    print("ready", flush=True)
    try:
        with swath.stream(folder, streams=1):
            raise AssertionError("the token was given twice")
    except KeyboardInterrupt:
        print("interrupted by KeyboardInterrupt", flush=True)
    status = own_status()
    assert (status.streams, status.reads.active, status.reads.waiting) == (1, 1, 0), status
    let_go.set()
    holder.join()
    with swath.stream(folder, streams=1):
        status = own_status()
        assert status.reads.active == 1


def store_of_one_chunk(folder: Path) -> Path:
    """10,000 chunks of 8 MiB are all the same file."""
    path = folder / "chunks.zarr"
    chunk = 1 << 20
    with swath.create(path, 10_000 * chunk, "f8", chunks=chunk, codecs="zlib", format="zarr:v2") as a:
        a[:chunk] = np.arange(float(chunk)) % 1000
    first = next(file for file in path.rglob("0") if file.is_file())
    for number in range(1, 10_000):
        os.link(first, first.with_name(str(number)))
    return path


def read_chunks(folder: Path) -> None:
    """Many threads decode."""
    with swath.open(store_of_one_chunk(folder)) as a:
        interrupted(lambda: a[::4096])
        np.testing.assert_array_equal(a[1 << 20 : (1 << 20) + 2000], np.arange(2000.0) % 1000)


def read_by_library(folder: Path) -> None:
    """HDF5 fills in elements that were never written."""
    import h5py

    path = folder / "lzf.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", (1 << 33,), "f8", chunks=(1 << 20,), compression="lzf")
        data[:1000] = np.arange(1.0, 1001.0)
    with swath.open(path) as a:
        assert "library" in a.layout, a.layout
        interrupted(lambda: a[::4096])
        np.testing.assert_array_equal(a[:1001], [*range(1, 1001), 0])


def copy(folder: Path) -> None:
    """Three threads work on slow disks."""
    path = file_of_holes(folder, 1 << 26)
    target = folder / "copied.npy"
    how: dict[str, Any] = {"shape": (1 << 13, 1 << 13), "dtype": "f8"}
    with swath.open(path, **how) as source:
        interrupted(lambda: swath.copy(source, target, axes=(1, 0), memory="32M", engine=SLOW))
        assert not target.exists()
        swath.copy(source, target, axes=(1, 0), memory="64M", resume=False)
        assert swath.verify(source, target, axes=(1, 0)).equal


def verify(folder: Path) -> None:
    path = file_of_holes(folder, 1 << 27)
    with swath.open(path, shape=1 << 27, dtype="f8") as source:
        interrupted(lambda: swath.verify(source, source, engine=SLOW))
    read_again(path, 1 << 27)


def fill(folder: Path) -> None:
    """One element of a new file is written, and the rest is filled."""
    path = folder / "filled.raw"

    def work() -> None:
        with swath.create(path, 1 << 27, "f8", fill=7, engine=SLOW) as a:
            a[:1] = 1.0

    interrupted(work)
    assert list(folder.iterdir()) == []
    with swath.create(path, 1000, "f8", fill=7) as a:
        a[:1] = 1.0
    assert np.fromfile(path).tolist() == [1.0] + [7.0] * 999


def simulate(folder: Path) -> None:
    """10,000 ranks on a simulated machine."""
    from swath.simulation.operations import distributed

    rules = (swath.Block(), swath.Block(), swath.Whole())
    huge = distributed((32768, 32768, 128), "f8", rules, ranks=10_000, write=True)
    interrupted(lambda: swath.simulate(huge, "site-2026", ranks=10_000))
    small = distributed((64, 64), "f8", ranks=4, write=True)
    assert swath.simulate(small, "site-2026", ranks=4).bytes == 64 * 64 * 8


def own_handler(folder: Path, read: Callable[[Path], None]) -> None:
    """The program's own handler raises, and an alarm that the program sets."""

    def handle(signal_number: int, frame: FrameType | None) -> None:
        raise ToldError(signal_number)

    signal.signal(signal.SIGINT, handle)
    read(folder)


CASES: dict[str, Callable[[Path], None]] = {
    **{f"read-{m}": lambda folder, m=m: read_by_method(folder, m) for m in ("direct", "list", "sieve", "two-phase")},  # type: ignore[misc]
    **{f"read-{e}": lambda folder, e=e: read_by_engine(folder, e) for e in ("posix", "uring", "auto")},  # type: ignore[misc]
    **{f"write-{m}": lambda folder, m=m: write_by_method(folder, m) for m in ("sieve", "two-phase")},  # type: ignore[misc]
    "lock": wait_for_lock,
    "token": wait_for_token,
    "chunks": read_chunks,
    "library": read_by_library,
    "copy": copy,
    "verify": verify,
    "fill": fill,
    "simulate": simulate,
    "own-handler": lambda folder: own_handler(folder, lambda f: read_by_method(f, "sieve")),
    "own-handler-chunks": lambda folder: own_handler(folder, read_chunks),
}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
    CASES[sys.argv[1]](Path(sys.argv[2]))
    print("all right", flush=True)
