"""How long the files of a run were before it, and how fast it read them: from its reads and writes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from swath import _core
from swath.replay.actions import MOVING, UNKNOWN, Action, File

CACHED_CALL_SECONDS = 2e-6
CACHED_BYTES_PER_SECOND = 4e9
LARGE_OPERATION = 1 << 20
COLD_FACTOR = 3
"""Reads that take so many times as long as reads of the page cache are taken for reads of the medium."""


def with_lengths(names: Sequence[str], actions: Sequence[Iterable[Action]]) -> list[File]:
    """Return the files with their lengths, and whether they were cold.

    Args:
        names: the paths of the files.
        actions: the calls of each rank with their times; operations of Swath do not count.
    """
    of_file: list[list[Action]] = [[] for _ in names]
    for of_rank in actions:
        for one in of_rank:
            if one.name in MOVING and one.file != UNKNOWN and one.offset != UNKNOWN and one.length > 0:
                of_file[one.file].append(one)
    return [_file(name, calls) for name, calls in zip(names, of_file, strict=True)]


def _file(name: str, calls: list[Action]) -> File:
    if not calls:
        return File(name)
    end = max(one.offset + one.length for one in calls)
    reads = [one for one in calls if one.name == "read"]
    initial = _initial_bytes(sorted(calls, key=lambda one: one.began)) if reads else 0
    return File(name, initial, end, _is_cold(reads) if initial else None)


def _initial_bytes(calls: list[Action]) -> int:
    """Return the end of the last byte that is read before it is written; 0 if there is none."""
    edges = np.unique([edge for one in calls for edge in (one.offset, one.offset + one.length)])
    first = np.searchsorted(edges, [one.offset for one in calls])
    last = np.searchsorted(edges, [one.offset + one.length for one in calls])
    is_read_first = np.zeros(len(edges), bool)
    for one, low, high in zip(reversed(calls), first[::-1], last[::-1], strict=True):  # the first call decides
        is_read_first[low:high] = one.name == "read"
    found = np.flatnonzero(is_read_first)
    return int(edges[found[-1] + 1]) if len(found) else 0


def _is_cold(reads: list[Action]) -> bool:
    moved = sum(one.length for one in reads)
    cached = len(reads) * CACHED_CALL_SECONDS + moved / CACHED_BYTES_PER_SECOND
    return sum(one.seconds for one in reads) > COLD_FACTOR * cached


def _is_cold_array(reads: list[Action]) -> bool:
    """Return whether operations read from the medium. The time of short ones is that of the agreement of the ranks."""
    large = [one for one in reads if one.length >= LARGE_OPERATION]
    seconds = sum(one.seconds for one in large)
    return seconds > 0 and COLD_FACTOR * sum(one.length for one in large) / CACHED_BYTES_PER_SECOND < seconds


def with_operations(files: Sequence[File], actions: Sequence[Iterable[Action]], stored: Sequence[bytes]) -> list[File]:
    """Return the files with the lengths that operations of Swath need: those of their arrays.

    A file whose first operation is a read existed before the run.
    """
    forms = [_core.Operation.parse(one).array for one in stored]
    ends = [0 if form.layout is None else form.layout.end for form in forms]
    of_file: dict[int, list[Action]] = {}
    for one in sorted((one for of_rank in actions for one in of_rank), key=lambda action: action.began):
        if one.name == "operation":
            of_file.setdefault(one.file, []).append(one)
    found = list(files)
    for number, calls in of_file.items():
        end = max(ends[one.operation] for one in calls)
        reads = [one for one in calls if one.direction == "read"]
        existed = calls[0].direction == "read"
        found[number] = replace(
            found[number],
            initial_bytes=max(end, found[number].initial_bytes) if existed else found[number].initial_bytes,
            end_bytes=max(end, found[number].end_bytes),
            is_cold=_is_cold_array(reads) if existed else found[number].is_cold,
        )
    return found
