"""Under mpiexec: every fault is the same error on all ranks, and no rank hangs. See tests/array/test_faults_mpi.py.

mpiexec -n 4 python fault_ranks.py faults FOLDER ENGINE MOST   breaks at most MOST steps of each scene
mpiexec -n 4 python fault_ranks.py create FOLDER               creations that fail
mpiexec -n 4 python fault_ranks.py disagree FOLDER             different arguments on different ranks
mpiexec -n 4 python fault_ranks.py split FOLDER                errors that only some ranks know
mpiexec -n 4 python fault_ranks.py kill FOLDER                 the last rank is killed in the middle of reads
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))
import swath
from fault_cases import FATAL, SCENES, SURVIVED, attempts, breaks, check, outcome

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
SHAPE = (8, 6)
NEW = np.arange(48, dtype="<i4").reshape(SHAPE) + 1
OLD = b"what was there before"
D = swath.Distribution((swath.Block(), swath.Whole()), grid=(SIZE, 1))
MINE = NEW[np.ix_(*D.indices(SHAPE, RANK))]


def faults(folder: Path, kind: str, most: str) -> None:
    """Run the same cases as tests/array/test_faults.py."""
    path = folder / "a.raw"
    for scene in SCENES.values():
        write_first(path, scene.file())
        counts = COMM.allgather(attempts(scene, path, COMM, SIZE, RANK))
        cases = [*breaks(counts, FATAL), *breaks(counts, SURVIVED)]
        cases = random.Random(f"{scene.name} {SIZE}").sample(cases, min(int(most), len(cases)))
        for broken in cases:
            write_first(path, scene.file())
            outcomes = COMM.allgather(outcome(scene, broken, path, COMM, SIZE, RANK, kind))
            try:
                check(scene, broken, path, outcomes, counts)
            except AssertionError as error:
                raise AssertionError(f"{scene}: {broken}") from error


def write_first(path: Path, data: bytes) -> None:
    """Write the file, on rank 0."""
    COMM.Barrier()
    if RANK == 0:
        path.write_bytes(data)
    COMM.Barrier()


def error_of(call: Callable[[], object]) -> BaseException | None:
    """Return the exception of the call."""
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return error
    return None


def same_on_all(error: BaseException | None) -> BaseException:
    """Return the error; every rank must have it, with the same type and text."""
    texts = set(COMM.allgather(f"{type(error).__name__}: {error}"))
    assert len(texts) == 1, texts
    assert error is not None
    return error


def create(folder: Path) -> None:
    """The old file is left, or none; a temporary file never is."""
    path = folder / "a.npy"
    for rule in ("write@0=ENOSPC", "write@0=short+ENOSPC", "sync@0=EIO"):
        for culprit in range(SIZE if rule.startswith("write") else 1):
            for old in (False, True):
                remake(path, old=old)
                error = same_on_all(
                    error_of(lambda c=culprit, r=rule: write_new(path, f"fault:{r}" if c == RANK else "posix"))
                )
                assert isinstance(error, swath.StoreError)
                assert SIZE == 1 or f"rank {culprit}: " in str(error)
                check_left(folder, old=old)
    for culprit in (*range(SIZE), -1):
        for old in (False, True):
            for before in (False, True):
                remake(path, old=old)
                error = error_of(lambda c=culprit, b=before: write_and_fail(path, c, before=b))
                assert "mistake" in str(error), error
                assert isinstance(error, KeyError) == (culprit in (RANK, -1))
                check_left(folder, old=old)
    remake(path, old=False)
    error = same_on_all(error_of(lambda: write_new(path, "fault:nonsense" if RANK == SIZE - 1 else "posix")))
    assert isinstance(error, swath.ArgumentError)
    check_left(folder, old=False)
    write_new(path, "posix")
    COMM.Barrier()
    np.testing.assert_array_equal(np.load(path), NEW)


def remake(path: Path, *, old: bool) -> None:
    COMM.Barrier()
    if RANK == 0:
        path.unlink(missing_ok=True)
        if old:
            path.write_bytes(OLD)
    COMM.Barrier()


def check_left(folder: Path, *, old: bool) -> None:
    COMM.Barrier()
    assert os.listdir(folder) == (["a.npy"] if old else [])
    assert not old or (folder / "a.npy").read_bytes() == OLD
    COMM.Barrier()


def write_new(path: Path, engine: str) -> None:
    with swath.create(path, SHAPE, "<i4", comm=COMM, overwrite=True, engine=engine) as a:
        a.write(MINE, D, method="direct")


def write_and_fail(path: Path, culprit: int, *, before: bool) -> None:
    """Make a mistake in the block, on one rank or on all (-1)."""
    with swath.create(path, SHAPE, "<i4", comm=COMM, overwrite=True) as a:
        if not before:
            a.write(MINE, D)
        if culprit in (RANK, -1):
            raise KeyError("mistake")
        a.write(MINE, D)


def disagree(folder: Path) -> None:
    """All ranks get the same DisagreementError, and the array can be used afterwards."""
    path = folder / "a.npy"
    if RANK == 0:
        np.save(path, NEW)
    COMM.Barrier()
    other = swath.Distribution((swath.Whole(), swath.Block()), grid=(1, SIZE))
    pairs: list[tuple[Callable[[swath.Array], Any], Callable[[swath.Array], Any]]] = [
        (lambda a: a.read(D), lambda a: a.read(other)),
        (lambda a: a.read(D), lambda a: a.read(D, selection=np.s_[::2])),
        (lambda a: a.read(D, method="list"), lambda a: a.read(D, method="two-phase")),
        (lambda a: a.read(D, tuning={"window_bytes": 64}), lambda a: a.read(D, tuning={"window_bytes": 32})),
        (lambda a: a.read(D), lambda a: a.write(MINE, D)),
        (lambda a: a.read(D), lambda a: a.sync()),
        (lambda a: a.read(D), lambda a: a.read(swath.Boxes([]))),
    ]
    with swath.open(path, mode="r+", comm=COMM) as a:
        for call, different in pairs:
            for culprit in range(SIZE):
                error = same_on_all(error_of(lambda c=culprit, f=call, g=different: (g if c == RANK else f)(a)))
                assert isinstance(error, swath.DisagreementError), error
                np.testing.assert_array_equal(a.read(D), MINE)


def split(folder: Path) -> None:
    """An error in an agreement of some ranks, or on one rank alone, must still reach the others."""
    path = folder / "a.npy"
    if RANK == 0:
        np.save(path, NEW)
    COMM.Barrier()
    half = COMM.Split(RANK % 2)
    whole = swath.Distribution((swath.Whole(), swath.Whole()), grid=(1, 1))

    def inner() -> None:
        with swath.open(path, comm=COMM):
            if RANK % 2 == 0:
                with swath.open(path, comm=half, engine="fault:read@0=EIO") as b:
                    b.read(whole)

    error = error_of(inner)
    assert "Input/output error" in str(error)
    assert all("Input/output error" in text for text in COMM.allgather(str(error)))

    def alone() -> None:
        with swath.open(path, comm=COMM, engine="fault:read@0=EIO" if RANK == SIZE - 1 else "posix") as a:
            if RANK == SIZE - 1:
                assert a[:].size

    assert isinstance(error_of(alone), swath.StoreError)

    def two_files() -> None:
        with swath.open(path, comm=COMM) as a, swath.create(folder / "b.npy", SHAPE, "<i4", comm=COMM) as b:
            mine = a.read(D)
            if RANK == SIZE - 1:
                raise KeyError("mistake")
            b.write(mine, D)

    assert "mistake" in str(error_of(two_files))
    COMM.Barrier()
    assert os.listdir(folder) == ["a.npy"]
    half.Free()


def kill(folder: Path) -> None:
    """Read for ever; the last rank is killed after a while."""
    path = folder / "a.raw"
    if RANK == 0:
        path.write_bytes(bytes(1 << 20))
    COMM.Barrier()
    d = swath.Distribution((swath.Cyclic(),), grid=(SIZE,))
    with swath.open(path, shape=1 << 20, dtype="u1", comm=COMM) as a:
        a.read(d, method="two-phase")
        if RANK == SIZE - 1:
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        if RANK == 0:
            print("reading", flush=True)
        begin = time.monotonic()
        while time.monotonic() - begin < 1000:
            a.read(d, method="two-phase", tuning={"window_bytes": 4096})


def main() -> None:
    """Run the requested part, in a separate folder."""
    folder = Path(sys.argv[2])
    {"faults": faults, "create": create, "disagree": disagree, "split": split, "kill": kill}[sys.argv[1]](
        folder, *sys.argv[3:]
    )
    if RANK == 0:
        print("all right")


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.flush()
        COMM.Abort(1)
