"""Under mpiexec: requests that break at a chosen step. See core/store/fault/fault.h.

mpiexec -n 4 python mpi_io_faults.py matrix FOLDER MOST     at most MOST of all faults
mpiexec -n 4 python mpi_io_faults.py other FOLDER           sync, opening
mpiexec -n 4 python mpi_io_faults.py kill FOLDER            the last rank is killed in the middle of writes
"""

from __future__ import annotations

import errno
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI
from mpi_io_calls import CALLS, Call, main

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
ENGINE = "SWATH_MPI_IO_ENGINE"
COUNT = 24  # ints of a rank
FATAL = {
    "read": ("EIO", "short+EIO"),
    "write": ("ENOSPC", "short+ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES"),
    "lock": ("ENOLCK",),
}
SURVIVED = {"read": ("short", "EINTR", "EAGAIN"), "write": ("short", "EINTR", "EAGAIN"), "lock": ("EINTR",)}
CLASSES = {
    "ENOSPC": MPI.ERR_NO_SPACE,
    "EDQUOT": MPI.ERR_QUOTA,
    "EROFS": MPI.ERR_READ_ONLY,
    "EACCES": MPI.ERR_ACCESS,
    "EIO": MPI.ERR_IO,
    "ENOLCK": MPI.ERR_IO,
}


@dataclass(frozen=True)
class Scene:
    """A call whose ranks have every other int of a row except one: small, but divided into many steps."""

    call: Call
    direction: str
    method: str
    is_atomic: bool = False
    hints: dict[str, str] = field(default_factory=dict, hash=False)

    def open(self, path: Path, engine: str) -> MPI.File:
        """Open the file with an engine of this rank alone. Collective."""
        os.environ[ENGINE] = engine
        info = MPI.Info.Create()
        for key, value in {"swath_method": self.method, **self.hints}.items():
            info.Set(key, value)
        file = MPI.File.Open(COMM, str(path), MPI.MODE_RDWR, info)
        info.Free()
        del os.environ[ENGINE]
        vector = MPI.INT.Create_vector(COUNT, 1, SIZE + 1)
        filetype = vector.Create_resized(0, COUNT * (SIZE + 1) * 4).Commit()
        # With a shared pointer each rank has one row, otherwise each has its own columns.
        shares = self.call.by in ("shared", "ordered")
        file.Set_view(8 if shares else 8 + 4 * RANK, MPI.INT, filetype)
        vector.Free()
        filetype.Free()
        file.Set_atomicity(self.is_atomic)
        return file

    def places(self, rank: int) -> np.ndarray:
        """Return the numbers of the ints, from byte 8 of the file on."""
        row = COUNT * (SIZE + 1)
        if self.call.by in ("shared", "ordered"):
            return rank * row + np.arange(COUNT) * (SIZE + 1)
        return rank + np.arange(COUNT) * (SIZE + 1)


def scenes() -> list[Scene]:
    """Return all kinds of transfers, with collective and independent methods."""
    found = []
    for direction in ("read", "write"):
        for call in CALLS:
            if call.by == "shared":
                continue  # no rank knows which rows belong to which rank
            small = {"swath_window_bytes": "64", "swath_sieve_bytes": "48", "swath_list_pieces": "3"}
            methods = ["direct", "sieve", "list"] + (["two-phase"] if call.is_collective else [])
            hints = {**small, "swath_domain_bytes_min": "8"}
            found += [Scene(call, direction, method, hints=hints) for method in methods]
            found.append(Scene(call, direction, "auto", is_atomic=True))
    return found


def image_of(salt: int) -> np.ndarray:
    """Return the content of the file; two salts differ in every byte."""
    count = SIZE * COUNT * (SIZE + 1) * 4
    return np.random.default_rng(7).integers(0, 256, count + 8, dtype=np.uint8) + np.uint8(salt * 85)


def make(path: Path, data: np.ndarray) -> None:
    COMM.Barrier()
    if RANK == 0:
        path.write_bytes(data.tobytes())
    COMM.Barrier()


def attempt(scene: Scene, file: MPI.File) -> MPI.Exception | None:
    """Make the call; if a read succeeds, compare its data."""
    ints = image_of(1 if scene.direction == "write" else 0)[8:].view(np.int32)
    mine = ints[scene.places(RANK)]
    memory = mine.copy() if scene.direction == "write" else np.zeros(COUNT, np.int32)
    try:
        status = scene.call(file, scene.direction, [memory, COUNT, MPI.INT], 0)
    except MPI.Exception as error:
        return error
    assert status.Get_count(MPI.INT) == COUNT
    assert (memory == mine).all(), "wrong data, and no error"
    return None


def broken(path: Path, scene: Scene, step: str, number: int, what: str, culprit: int) -> bool:
    """Test one fault, and return whether it occurred. Collective."""
    try:
        return broken_so(path, scene, f"{step}@{number}={what}", culprit)
    except AssertionError as error:
        raise AssertionError(f"{scene}: {step}@{number}={what} of rank {culprit}: {error}") from error


def broken_so(path: Path, scene: Scene, rule: str, culprit: int) -> bool:
    """Test one fault by its rule, and return whether it occurred. Collective."""
    old, new = image_of(0), image_of(1)
    make(path, old)
    file = scene.open(path, f"fault:{rule},engine=posix" if culprit in (RANK, -1) else "fault:engine=posix")
    error = attempt(scene, file)
    check_errors(scene, path, rule.partition("=")[2], culprit, error)
    COMM.Barrier()
    wrote = scene.direction == "write"
    if RANK == 0:
        found = np.frombuffer(path.read_bytes(), np.uint8)
        mine = np.zeros(old.size, bool)
        for rank in range(SIZE) if wrote else ():
            mine[8:].reshape(-1, 4)[scene.places(rank)] = True
        assert found.size == old.size
        assert (found[~mine] == old[~mine]).all(), "a foreign byte was changed"
        assert ((found == old) | (found == new))[mine].all(), "bytes are neither old nor new"
    met = COMM.allreduce(error is not None)
    # No fault occurs twice: all ranks can continue with the same file.
    if scene.call.by == "pointer":
        file.Seek(0)
    if scene.call.by == "ordered":
        file.Seek_shared(0)
    COMM.Barrier()
    again = attempt(scene, file)
    assert again is None or not met, again
    file.Close()
    return bool(met)


def check_errors(scene: Scene, path: Path, what: str, culprit: int, error: MPI.Exception | None) -> None:
    """Check that all ranks have the error of a collective call, otherwise only the ranks with the fault. Collective."""
    mine = None if error is None else (error.Get_error_class(), error.Get_error_string())
    everyone = COMM.allgather(mine)
    name = what.removeprefix("short+")
    if scene.call.is_collective:
        assert len({one and one[0] for one in everyone}) == 1, everyone
    else:
        assert all(one is None for rank, one in enumerate(everyone) if culprit not in (rank, -1)), everyone
    for one in everyone:
        if one is not None:
            assert name in CLASSES, f"{what} must be survived: {one}"
            assert one[0] == CLASSES[name], everyone
            assert str(path) in one[1], one
            assert os.strerror(getattr(errno, name)) in one[1], one
            assert any(sign in one[1] for sign in (" at ", " [")), f"no offset: {one}"


def cases() -> Iterator[tuple[Scene, str, int, str, int]]:
    """Yield every step of every scene with a fault at its first attempts, of every kind, on each rank and on all."""
    for scene in scenes():
        for step, fatal in FATAL.items():
            if step == "write" and scene.direction == "read":
                continue
            for what in (*fatal, *SURVIVED[step]):
                for culprit in (*range(SIZE), -1) if SIZE > 1 else (0,):
                    yield from ((scene, step, number, what, culprit) for number in range(4))


def matrix(folder: str, most: str) -> None:
    """Test at most `most` cases, or all."""
    path = Path(folder, "a")
    met = 0
    chosen = list(cases())
    if int(most) < len(chosen):
        chosen = random.Random(SIZE).sample(chosen, int(most))
    for case in chosen:
        met += broken(path, *case)
    if RANK == 0:
        print(f"{met} of {len(chosen)} faults were errors")
    assert met > len(chosen) // 8


def same_on_all(call: Callable[[], object]) -> tuple[int, str]:
    """Return the class and the text of the error that every rank must have. Collective."""
    error = None
    try:
        call()
    except MPI.Exception as raised:
        error = raised
    classes = COMM.allgather(None if error is None else error.Get_error_class())
    assert len(set(classes)) == 1, classes
    assert error is not None
    return error.Get_error_class(), error.Get_error_string()


def other(folder: str) -> None:
    """Test faults outside of transfers, and mistakes of one rank in collective calls."""
    path = Path(folder, "a")
    make(path, image_of(0))
    scene = Scene(CALLS[2], "write", "auto")
    for culprit in range(SIZE):
        file = scene.open(path, "fault:sync@0=EIO" if culprit == RANK else "posix")
        assert attempt(scene, file) is None
        error = None
        try:
            file.Sync()
        except MPI.Exception as raised:
            error = raised.Get_error_class()
        assert COMM.allgather(error) in ([None] * SIZE, [MPI.ERR_IO] * SIZE)
        assert culprit != 0 or error == MPI.ERR_IO, "one rank of a node syncs: it fails"
        file.Close()
    for culprit in range(SIZE):
        one_mistaken(path, culprit)


def one_mistaken(path: Path, culprit: int) -> None:
    """An argument that is wrong on one rank is an error on all ranks."""
    file = Scene(CALLS[2], "write", "auto").open(path, "posix")
    wrong = culprit == RANK
    buffer = np.zeros(4, np.int32)
    for call in CALLS:
        if not call.is_collective or call.way == "beside":
            continue
        for direction in ("read", "write"):
            uncommitted = MPI.INT.Create_vector(2, 1, 2)
            specs = [uncommitted if wrong else MPI.INT, MPI.DATATYPE_NULL if wrong else MPI.INT]
            for kind in specs:
                spec = [buffer, 1, kind]
                got, text = same_on_all(partial(call, file, direction, spec, 0))
                assert got == MPI.ERR_TYPE, text
                assert SIZE == 1 or wrong or f"rank {culprit}" in text, text
            uncommitted.Free()
            if call.by == "offset":
                got, text = same_on_all(partial(call, file, direction, [buffer, 1, MPI.INT], -1 if wrong else 0))
                assert got == MPI.ERR_ARG, text
    got, text = same_on_all(lambda: file.Seek_shared(-1 if wrong else 0))
    assert got in (MPI.ERR_ARG, MPI.ERR_NOT_SAME), text
    assert attempt(Scene(CALLS[2], "write", "auto"), file) is None
    file.Close()


def kill(folder: str) -> None:
    """Write for ever; the last rank is killed after a while."""
    path = Path(folder, "a")
    make(path, np.zeros(0, np.uint8))
    file = MPI.File.Open(COMM, str(path), MPI.MODE_RDWR)
    filetype = MPI.BYTE.Create_vector(1 << 16, 8, 8 * SIZE).Commit()
    file.Set_view(8 * RANK, MPI.BYTE, filetype)
    data = np.zeros(1 << 19, np.uint8)
    file.Write_at_all(0, data)
    if RANK == SIZE - 1:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    if RANK == 0:
        print("writing", flush=True)
    begin = time.monotonic()
    while time.monotonic() - begin < 1000:
        file.Write_at_all(0, data)


if __name__ == "__main__":
    main({"matrix": matrix, "other": other, "kill": kill})
