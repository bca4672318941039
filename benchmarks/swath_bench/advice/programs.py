"""Programs that use a file badly, each in one way: `python programs.py NAME FILE`, alone or under mpiexec."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

ROWS, ROW_BYTES = 64, 240
REGIONS, REGION_BYTES, PITCH = 256, 128, 1024
BLOCKS, BLOCK_BYTES, PASSES = 12, 64 << 10, 4
COMPUTING_SECONDS = 0.02
STEPS, STEP_BYTES = 12, 4096


def rows(file: str, ranks: Any) -> None:
    """Each rank writes its rows of a shared file, with a call each."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    for row in range(ROWS):
        os.pwrite(descriptor, bytes(ROW_BYTES), (row * ranks.size + ranks.rank) * ROW_BYTES)
    os.close(descriptor)


def one_rank(file: str, ranks: Any) -> None:
    """Rank 0 writes the rows of all ranks, one rank after the other."""
    if ranks.rank == 0:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
        for block in range(ranks.size):
            for row in range(ROWS):
                os.pwrite(descriptor, bytes(ROW_BYTES), (row * ranks.size + block) * ROW_BYTES)
        os.close(descriptor)
    ranks.barrier()


def small(file: str, ranks: Any) -> None:
    """A file is read from its begin to its end in small pieces."""
    descriptor = opened(file, REGIONS * PITCH)
    for _ in range(REGIONS * PITCH // REGION_BYTES // 4):
        os.read(descriptor, REGION_BYTES)
    os.close(descriptor)


def regions(file: str, ranks: Any) -> None:
    """Small regions of a file are read, with gaps between them."""
    descriptor = opened(file, REGIONS * PITCH)
    for number in range(REGIONS):
        os.pread(descriptor, REGION_BYTES, number * PITCH)
    os.close(descriptor)


def passes(file: str, ranks: Any) -> None:
    """The same blocks are read again and again."""
    descriptor = opened(file, BLOCKS * BLOCK_BYTES)
    for _ in range(PASSES):
        for block in range(BLOCKS):
            os.pread(descriptor, BLOCK_BYTES, block * BLOCK_BYTES)
    os.close(descriptor)


def computing(file: str, ranks: Any) -> None:
    """Blocks are read, with computing after each."""
    descriptor = opened(file, BLOCKS * BLOCK_BYTES)
    for block in range(BLOCKS):
        os.pread(descriptor, BLOCK_BYTES, block * BLOCK_BYTES)
        time.sleep(COMPUTING_SECONDS)
    os.close(descriptor)


def syncs(file: str, ranks: Any) -> None:
    """The file is opened, synchronised and closed for each step."""
    for step in range(STEPS):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
        os.pwrite(descriptor, bytes(STEP_BYTES), step * STEP_BYTES)
        os.fsync(descriptor)
        os.close(descriptor)


def opened(file: str, length: int) -> int:
    """Open a file that exists, out of the page cache."""
    if not os.path.exists(file):
        raise SystemExit(f"{file}: make it first, by: programs.py make {file} {length}")
    return os.open(file, os.O_RDONLY)


def make(file: str, length: int) -> None:
    """Make a file, and take it out of the page cache."""
    with open(file, "wb") as made:
        made.write(bytes(length))
        made.flush()
        os.fsync(made.fileno())
        os.posix_fadvise(made.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Alone:
    """The only rank."""

    rank, size = 0, 1

    def barrier(self) -> None:
        """Return: nobody else is there."""


PROGRAMS: dict[str, Callable[[str, Any], None]] = {
    "rows": rows,
    "one-rank": one_rank,
    "small": small,
    "regions": regions,
    "passes": passes,
    "computing": computing,
    "syncs": syncs,
}
WITH_RANKS = ("rows", "one-rank")
READ_BYTES = {
    "small": REGIONS * PITCH,
    "regions": REGIONS * PITCH,
    "passes": BLOCKS * BLOCK_BYTES,
    "computing": BLOCKS * BLOCK_BYTES,
}
"""How long the file of a program that reads is."""


def main(name: str, file: str) -> None:
    """Run a program."""
    ranks: Any = Alone()
    if name in WITH_RANKS:
        from mpi4py import MPI

        ranks = MPI.COMM_WORLD
    PROGRAMS[name](file, ranks)


if __name__ == "__main__":
    main(*sys.argv[1:])
