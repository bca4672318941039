"""Measuring on several ranks: times, the file in the page cache or not, and values that reveal errors."""

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
"""A file is made by requests of 512 KiB, as two-phase makes files: larger ones make Linux keep such large folios in the
page cache that each small write to the file costs many times more, by any program."""
AWAKE_SECONDS = 1e-3
"""Least time of computing before a read or write: a core that slept takes tens of microseconds to wake."""
"""Size of the pieces that are made or checked: they stay in a core's cache."""
STAMP_SHIFT = 40
"""Element i of a file with stamp s holds i + s × 2^40: with a new stamp, every old value is wrong."""
DROPS_MAX = 20
DROP_SECONDS = 1e-3


class WrongDataError(Exception):
    """A contender moved wrong bytes: its speed means nothing."""


@dataclasses.dataclass(frozen=True)
class Summary:
    """Repetitions of one measurement: the median and the range of those that are kept."""

    median: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """Return it as plain data, for JSON."""
        return dataclasses.asdict(self)


def summary(values: Sequence[float]) -> Summary:
    """Return the median and range of `values` (at least one), without the highest and the lowest if there are three."""
    kept = sorted(values)[1:-1] if len(values) >= 3 else sorted(values)
    return Summary(statistics.median(kept), kept[0], kept[-1])


def counted(measurements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the measurements without repetition 0, which only warms up."""
    return [m for m in measurements if m["repetition"] > 0]


def shuffled(items: Sequence[T], repetition: int) -> list[T]:
    """Return a new order each time, the same on all ranks, so no contender always follows the same other one.

    The predecessor matters: reads of 16 MiB took up to a fifth longer after methods that use other memory.
    """
    return random.Random(repetition).sample(items, len(items))


def timed(ranks: Ranks, work: Callable[[], object]) -> dict[str, Any]:
    """Collective. Time `work`: "seconds" from the first rank's start to the last rank's end, and each rank's seconds.

    "device_bytes" are the bytes that the device read for all ranks together (None if the kernel does not count them).
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
    """Collective. Time the phases of all ranks, `repeats` times; also return the bytes that devices read.

    The result has, for every repeat and rank, the start and the end of each phase. The ranks wait for each other before
    each repeat (`together`; else before the first only). They sleep while they wait: a rank that spins would take the
    core from one that still works. Before that each rank computes for a moment, as programs do.
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
    """Print a line of progress on standard error, on rank 0."""
    if ranks.rank == 0:
        print(text, file=sys.stderr, flush=True)


def check_equal(ranks: Ranks, found: Values, expected: Callable[[int, int], Values], who: str) -> None:
    """Collective. Raise WrongDataError on every rank unless the rows `found[i:j]` are `expected(i, j)` everywhere.

    `expected` is called for a few rows at a time, so the check needs little memory.
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
    """The file that all contenders read and write, accessed without them: by plain system calls.

    Attributes:
        path: its path.
        elements: the number of its 8-byte integers.
    """

    def __init__(self, ranks: Ranks, path: str, elements: int) -> None:
        self.path = path
        self.elements = elements
        self.bytes = elements * VALUE_BYTES
        self._ranks = ranks
        self._fd = -1

    @contextlib.contextmanager
    def opened(self) -> Iterator[FileUnderTest]:
        """Collective. Give the file, which rank 0 makes if there is none, while the block runs."""
        if self._ranks.rank == 0:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._ranks.comm.barrier()
        self._fd = os.open(self.path, os.O_RDWR)
        try:
            yield self
        finally:
            os.close(self._fd)

    def fill(self, stamp: int) -> None:
        """Collective. Rank 0 writes the whole file, front to back, so it is the same before every contender."""
        if self._ranks.rank == 0:
            for begin in range(0, self.elements, FILL_ELEMENTS):
                end = min(begin + FILL_ELEMENTS, self.elements)
                _write_all(self._fd, stamped(np.arange(begin, end, dtype=np.int64), stamp), begin * VALUE_BYTES)
        self._ranks.comm.barrier()

    def check(self, stamp: int, written: int, old_stamp: int, who: str) -> None:
        """Collective. Raise WrongDataError unless the first `written` elements have `stamp`, the others `old_stamp`."""
        everything = self.elements if self._ranks.rank == 0 else 0
        found = np.fromfile(self.path, dtype=VALUE_DTYPE, count=everything) if everything else np.empty(0, np.int64)

        def expected(begin: int, end: int) -> Values:
            indices = np.arange(begin, end, dtype=np.int64)
            return np.where(indices < written, stamped(indices, stamp), stamped(indices, old_stamp))

        check_equal(self._ranks, found, expected, who)

    def stored_bytes(self) -> int:
        """Return the length of the file."""
        return os.stat(self.path).st_size

    def stored(self, first: int, count: int) -> Values:
        """Return elements [first, first + count) as they are stored; fewer if the file ends before."""
        return np.fromfile(self.path, dtype=VALUE_DTYPE, count=count, offset=first * VALUE_BYTES)

    def remove(self) -> None:
        """Remove the file if it exists. One rank calls this."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def cached_bytes(self) -> int | None:
        """Return the bytes of the file in this machine's page cache; None if the kernel does not report them."""
        return page_cache.cached_bytes(self._fd, self.bytes)

    def warm_up(self) -> None:
        """Collective. Sync the file; its cached pages stay in the page cache."""
        if self._ranks.rank == 0:
            os.fsync(self._fd)
        self._ranks.comm.barrier()

    def cool(self) -> int | None:
        """Collective. Sync the file and drop it from the page cache; return the bytes that are still cached.

        Pages that the kernel is still reading ahead cannot be dropped yet, so several attempts are made.
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
        """Collective. Read the pages that are not cached, or all if that is unknown; return the cached bytes."""
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
