"""The costs of the page cache, and of memory: all of a file that is completely in the cache."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np

from swath import _core
from swath.array import opening
from swath.array.open_array import Array
from swath.calibration.file import WINDOW, NotReachedError, Requests
from swath.calibration.measuring import Measuring
from swath.calibration.samples import BRIEF_SECONDS, Sample, seconds_of

MEMORY_SIZES = (256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
"""The sizes of an operation's memory; the file must be twice as large."""
STRAIGHT_REQUEST = 64 << 10
JUMP_SIZES = (8, 512, 4 << 10)
JUMP_GAP = 4 << 10
"""Bytes between two requests that are not contiguous: the widest spacing of the NCIO benchmark."""
LIST_BATCH = 64
PIECES = 4096
PIECE_DISTANCE = 136
"""Bytes between two pieces of memory for list I/O: no two pieces share a cache line."""
LINE = 64
PAGE = 4 << 10
LINE_ELEMENTS = 16
"""Elements of 8 bytes between two that are used: two cache lines, so that none is fetched with its neighbour."""
LOOK_SIZES = (256 << 10, 512 << 10, 2 << 20, 4 << 20, 16 << 20)
LOOK_BYTES = 8 << 20
"""Bytes of one repetition, like one operation: the file is mapped once for it."""


def requests(direction: str, measuring: Measuring, seconds: float) -> None:
    """Measure requests of each size that follow each other."""
    write, sizes = direction == "write", measuring.sizes()
    share = seconds / len(sizes)
    samples = []
    for size in sizes:
        stretch = partial(measuring.file.one, write, size, BRIEF_SECONDS)
        samples += measuring.in_turn([partial(measuring.file.warm, stretch, synced=write)], share)
    measuring.findings.set_curve(f"cache.{direction}", sizes, samples)


def mapped_reads(measuring: Measuring, seconds: float) -> None:
    """Measure a window that is mapped instead of read; and a page of which one line is read."""
    file, findings = measuring.file, measuring.findings
    sizes = [size for size in LOOK_SIZES if size <= file.nbytes // 2]

    def timed(size: int, step: int = LINE) -> tuple[float, int]:
        first, count = file.stretch(size, max(LOOK_BYTES // size, 1))
        looked = _core.time_mapped_reads(file.file, size, first, count, step)
        if looked is None:  # a page left the cache during the measurement
            file.request(Requests(False, size, first, size, count))
            looked = _core.time_mapped_reads(file.file, size, first, count, step)
        if looked is None:
            raise NotReachedError("the kernel does not say what of a range is there (cachestat, from Linux 6.5 on)")
        return looked, size * count

    runs = [partial(file.warm, partial(timed, size)) for size in sizes]
    try:
        samples = measuring.in_turn([*runs, partial(file.warm, partial(timed, sizes[0], PAGE))], seconds)
    except NotReachedError as reason:
        findings.notes.append(f"looking into the page cache was not measured, and is not done: {reason}")
        return
    findings.set_curve("look", sizes, samples[:-1])
    # For a page p with each of its 64 lines l: p + l, and p + 64 l.
    page, whole = samples[-1].median, samples[0].median
    lines = PAGE // LINE
    of_page = max(0.0, lines * page - whole) / (lines - 1) / (sizes[0] / PAGE)
    findings.set("look_page_seconds", of_page, samples[-1].spread)


def jumps(measuring: Measuring, seconds: float) -> None:
    """Measure the additional cost of a request that does not begin at the end of the last one."""
    file = measuring.file
    share = seconds / 3 / len(JUMP_SIZES)
    for name, write, batch in (
        ("read_jump", False, 1),
        ("write_jump", True, 1),
        ("read_jump_batched", False, LIST_BATCH),
    ):
        extra, spread = [], 0.0
        for size in JUMP_SIZES:
            in_line = partial(file.one, write, size, BRIEF_SECONDS)
            jumping = partial(in_line, stride=JUMP_GAP + size, batch=batch)
            without, having = measuring.in_turn(
                [partial(file.warm, in_line, synced=write), partial(file.warm, jumping, synced=write)], share
            )
            extra.append(max(0.0, having.median - without.median))
            spread = max(spread, having.spread)
        measuring.findings.set(f"cache.{name}", statistics.median(extra), spread)


def locks_and_pieces(measuring: Measuring, seconds: float) -> None:
    """Measure a lock of a range of the file; and one additional piece of memory in a request."""
    file = measuring.file
    locks = measuring.in_turn([lambda: _core.time_locks(file.file, WINDOW, 100)], seconds / 4)[0]
    measuring.findings.set("lock_seconds", locks.median, locks.spread)
    # The methods themselves are measured, so that Swath's own costs are included.
    memory = np.ones((PIECES, PIECE_DISTANCE // 8), dtype=np.int64)
    packed = np.ones(PIECES, dtype=np.int64)
    with opening.open(file.path, shape=file.nbytes // 8, dtype=np.int64, mode="r+") as opened:

        def read(method: str, values: Any) -> float:
            return seconds_of(lambda: opened.read(selection=np.s_[:PIECES], method=method, out=values))

        def write(method: str, values: Any) -> float:
            return seconds_of(lambda: opened.write(values, selection=np.s_[:PIECES], method=method))

        for name, move in (("read", read), ("write", write)):
            runs = [partial(move, "direct", packed), partial(move, "list", memory[:, 0])]
            one, many = measuring.in_turn(runs, seconds / 3)
            measuring.findings.set(f"{name}_piece_seconds", max(0.0, many.median - one.median) / PIECES, many.spread)


def memory(measuring: Measuring, seconds: float) -> None:
    """Measure the costs of memory that does not stay in the processor's cache."""
    file = measuring.file
    sizes = [size for size in MEMORY_SIZES if size <= min(file.nbytes // 2, 4 * measuring.effort.memory_bytes)]
    share = seconds / len(sizes) / 4
    for name, write in (("memory_byte_store", False), ("memory_byte_load", True)):
        measuring.findings.set_curve(name, sizes, [_straight(measuring, write, size, share) for size in sizes])
    with opening.open(file.path, shape=file.nbytes // 8, dtype=np.int64, mode="r+") as opened:
        for name, write in (("memory_line_store", False), ("memory_line_load", True)):
            measuring.findings.set_curve(name, sizes, [_lines(measuring, opened, write, size, share) for size in sizes])


def _straight(measuring: Measuring, write: bool, size: int, seconds: float) -> Sample:
    """Measure one byte: requests that use all of this memory, minus the same with one small piece of it."""

    def walk(memory_bytes: int) -> float:
        # Twice: the first time the memory is new.
        requests = Requests(write, STRAIGHT_REQUEST, 0, STRAIGHT_REQUEST, 2 * size // STRAIGHT_REQUEST)
        return measuring.file.request(requests, memory_bytes=memory_bytes)[0] / 2

    small, large = measuring.in_turn([partial(walk, 0), partial(walk, size)], seconds)
    return _more(large, small, size)


def _lines(measuring: Measuring, opened: Array, write: bool, size: int, seconds: float) -> Sample:
    """Measure one line: the same elements of the file to or from every second line of memory, minus packed ones."""
    # Not zeros: the kernel allocates untouched memory at the first write, which is 100 times as slow.
    memory = np.ones((size // 8 // LINE_ELEMENTS, LINE_ELEMENTS), dtype=np.int64)
    sparse, packed = memory[:, 0], np.ones(len(memory), dtype=np.int64)
    elements, tuning = np.s_[: len(memory)], {"sieve_bytes": WINDOW}

    def timed(values: Any) -> float:
        if write:
            return seconds_of(lambda: opened.write(values, selection=elements, method="sieve", tuning=tuning))
        return seconds_of(lambda: opened.read(out=values, selection=elements, method="sieve", tuning=tuning))

    one, many = measuring.in_turn([partial(timed, packed), partial(timed, sparse)], seconds)
    return _more(many, one, len(memory) * (1 - 8 / 64))


def _more(sample: Sample, base: Sample, by: float) -> Sample:
    """Return the difference of two samples, divided by `by`; a curve has no zeros."""
    return Sample(max(1e-13, (sample.median - base.median) / by), sample.spread)
