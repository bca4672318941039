"""Measuring on several ranks: times, the file in the page cache or out of it, and values that give errors away."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from swath.ranks.ranks import Ranks
from swath.store.standalone import page_cache

T = TypeVar("T")
Values = npt.NDArray[np.int64]

VALUE_DTYPE = "<i8"
VALUE_BYTES = 8
PIECE_ELEMENTS = 1 << 20
FILL_ELEMENTS = 1 << 16
"""A file is made by requests of 512 KiB, as two-phase makes files: of one made by larger ones Linux keeps folios so
large in the page cache that each small write to it costs many times more, whoever writes."""
AWAKE_SECONDS = 1e-3
"""What a program computes before it reads or writes, at least: a core that slept takes tens of microseconds to wake."""
"""How much is made or checked at once: what stays in a core's cache."""
STAMP_SHIFT = 40
"""Element i of a file with stamp s holds i + s × 2^40: another stamp, and every old value is a wrong one."""
DROPS_MAX = 20
DROP_SECONDS = 1e-3


class WrongDataError(Exception):
    """A contender moved other bytes than it was asked to: its speed means nothing."""


@dataclasses.dataclass(frozen=True)
class Summary:
    """Some repetitions of one measurement: the median and the range of those that are kept."""

    median: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """Return it as plain data, for JSON."""
        return dataclasses.asdict(self)


def summary(values: Sequence[float]) -> Summary:
    """The median and range of `values` (at least one) without the highest and the lowest, where there are three."""
    kept = sorted(values)[1:-1] if len(values) >= 3 else sorted(values)
    return Summary(statistics.median(kept), kept[0], kept[-1])


def counted(measurements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the measurements but those of repetition 0, which only warms up."""
    return [m for m in measurements if m["repetition"] > 0]


def shuffled(items: Sequence[T], repetition: int) -> list[T]:
    """In another order each time, the same on all ranks: so that nobody always follows the same neighbour.

    What went before is felt: reads of 16 MiB took up to a fifth longer after methods that move through other memory.
    """
    return random.Random(repetition).sample(items, len(items))


def timed(ranks: Ranks, work: Callable[[], object]) -> dict[str, Any]:
    """Collective. How long `work` takes: "seconds" from the first rank's start to the last rank's end, and each rank's.

    "device_bytes" is what all ranks together made the device read (None where the kernel does not tell).
    """
    (marks,), device = timed_phases(ranks, work)
    return {
        "seconds": max(end for _, end in marks) - min(start for start, _ in marks),
        "rank_seconds": [end - start for start, end in marks],
        "device_bytes": device,
    }


def timed_phases(
    ranks: Ranks, *phases: Callable[[], object], repeats: int = 1, together: bool = True
) -> tuple[list[list[tuple[float, ...]]], int | None]:
    """Collective. What all ranks do, `repeats` times; bytes read from devices meanwhile.

    For every time and every rank: when it started, and when each phase ended. The ranks wait for each other before
    each time (`together`; else before the first only), asleep: one that spins would take the core from one that still
    works. Before that each computes for a moment, as programs do.
    """
    computed = time.perf_counter() + AWAKE_SECONDS
    while time.perf_counter() < computed:
        pass
    device_before = page_cache.device_bytes_read()
    width = len(phases) + 1
    marks = [0.0] * (repeats * width)
    for mark in range(0, len(marks), width):
        if together or mark == 0:
            ranks.comm.barrier()
        marks[mark] = time.perf_counter()  # one clock for all processes of a machine
        for number, phase in enumerate(phases, mark + 1):
            phase()
            marks[number] = time.perf_counter()
    packing = f"<{len(marks)}d"
    of_ranks = [struct.unpack(packing, told) for told in ranks.comm.allgather(struct.pack(packing, *marks))]
    of_times = [[of_rank[mark : mark + width] for of_rank in of_ranks] for mark in range(0, len(marks), width)]
    device_after = page_cache.device_bytes_read()
    read = -1 if device_before is None or device_after is None else device_after - device_before
    device = [struct.unpack("<q", count)[0] for count in ranks.comm.allgather(struct.pack("<q", read))]
    return of_times, None if min(device) < 0 else sum(device)


def say(ranks: Ranks, text: str) -> None:
    """On rank 0, a line of progress on standard error."""
    if ranks.rank == 0:
        print(text, file=sys.stderr, flush=True)


def check_equal(ranks: Ranks, found: Values, expected: Callable[[int, int], Values], who: str) -> None:
    """Collective. WrongDataError on every rank unless `found[i:j]` is `expected(i, j)`, rows of it, everywhere.

    `expected` is asked for a few rows at a time, so that checking takes no memory of the array's size.
    """
    wrong, where = 0, ""
    for begin, end in _pieces(found.shape):
        differs = found[begin:end] != expected(begin, end)
        if differs.any():
            wrong += int(np.count_nonzero(differs))
            first = np.argwhere(differs)[0]
            place = (begin + int(first[0]), *map(int, first[1:]))
            where = where or f"rank {ranks.rank}: {who}: wrong data: at {place} is {int(found[place])}"
    told = [said for said in ranks.gather_objects(f"{where} ({wrong} wrong elements)" if wrong else "") if said]
    if told:
        raise WrongDataError(told[0])


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    row = max(1, int(np.prod(shape[1:], dtype=np.int64)))
    step = max(1, PIECE_ELEMENTS // row)
    for begin in range(0, shape[0], step):
        yield begin, min(begin + step, shape[0])


class FileUnderTest:
    """The file that all contenders read and write, seen past all of them: by plain system calls.

    Attributes:
        path: where it is.
        elements: how many 8-byte integers it holds.
    """

    def __init__(self, ranks: Ranks, path: str, elements: int) -> None:
        self.path = path
        self.elements = elements
        self.bytes = elements * VALUE_BYTES
        self._ranks = ranks
        self._fd = -1

    @contextlib.contextmanager
    def opened(self) -> Iterator[FileUnderTest]:
        """Collective. The file, made by rank 0 where there is none, for as long as the block runs."""
        if self._ranks.rank == 0:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._ranks.comm.barrier()
        self._fd = os.open(self.path, os.O_RDWR)
        try:
            yield self
        finally:
            os.close(self._fd)

    def fill(self, stamp: int) -> None:
        """Collective. Rank 0 writes all of it, front to back, so that the file is the same before every contender."""
        if self._ranks.rank == 0:
            for begin in range(0, self.elements, FILL_ELEMENTS):
                end = min(begin + FILL_ELEMENTS, self.elements)
                _write_all(self._fd, stamped(np.arange(begin, end, dtype=np.int64), stamp), begin * VALUE_BYTES)
        self._ranks.comm.barrier()

    def check(self, stamp: int, written: int, old_stamp: int, who: str) -> None:
        """Collective. WrongDataError unless the first `written` elements carry `stamp`, the others `old_stamp`."""
        everything = self.elements if self._ranks.rank == 0 else 0
        found = np.fromfile(self.path, dtype=VALUE_DTYPE, count=everything) if everything else np.empty(0, np.int64)

        def expected(begin: int, end: int) -> Values:
            indices = np.arange(begin, end, dtype=np.int64)
            return np.where(indices < written, stamped(indices, stamp), stamped(indices, old_stamp))

        check_equal(self._ranks, found, expected, who)

    def stored_bytes(self) -> int:
        """Return how long it is."""
        return os.stat(self.path).st_size

    def stored(self, first: int, count: int) -> Values:
        """Return elements [first, first + count) as they are stored; fewer where it ends before."""
        return np.fromfile(self.path, dtype=VALUE_DTYPE, count=count, offset=first * VALUE_BYTES)

    def remove(self) -> None:
        """Remove it: nothing where it is gone. Called by one rank."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def cached_bytes(self) -> int | None:
        """Return how much of it the page cache of this machine holds; None where the kernel does not tell."""
        return page_cache.cached_bytes(self._fd, self.bytes)

    def warm_up(self) -> None:
        """Collective. Puts it on the medium; what the page cache holds of it stays there."""
        if self._ranks.rank == 0:
            os.fsync(self._fd)
        self._ranks.comm.barrier()

    def cool(self) -> int | None:
        """Collective. Puts it on the medium and out of the page cache; how much stayed there all the same.

        What the kernel is still reading ahead for somebody who has stopped cannot be dropped yet: hence several times.
        """
        if self._ranks.rank == 0:
            page_cache.drop(self._fd)
            for _ in range(DROPS_MAX):
                if not self.cached_bytes():
                    break
                time.sleep(DROP_SECONDS)
                page_cache.drop(self._fd)
        self._ranks.comm.barrier()
        return self.cached_bytes()

    def warm(self) -> int | None:
        """Collective. Reads what is not in the page cache, where that is not known everything; how much is there."""
        if self._ranks.rank == 0 and self.cached_bytes() != self.bytes:
            for offset in range(0, self.bytes, PIECE_ELEMENTS * VALUE_BYTES):
                os.pread(self._fd, PIECE_ELEMENTS * VALUE_BYTES, offset)
        self._ranks.comm.barrier()
        return self.cached_bytes()


def stamped(indices: Values, stamp: int) -> Values:
    """Return the values that elements `indices` of a file with this stamp hold."""
    return indices + (stamp << STAMP_SHIFT)


def _write_all(fd: int, values: Values, offset: int) -> None:
    data = memoryview(values.astype(VALUE_DTYPE).tobytes())
    while data:
        written = os.pwrite(fd, data, offset)
        data, offset = data[written:], offset + written
