"""Bytes of a file that go to another place, in it or in another file, in bounded memory. Holes stay holes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import numpy as np

from swath.formats.files import clear, read_at, stored_ranges, write_all
from swath.formats.netcdf_define import Move

PIECE_BYTES = 4 << 20
"""Moved at a time."""


def move_in_place(descriptor: int, moves: list[Move]) -> None:
    """Carry out moves in one file, each from its end on: what is not moved yet is not written over.

    Before the first piece stays what was there. If the system refuses in between, the data are lost.
    """
    for move in moves:
        for first, count in _windows(move):
            _move_window(descriptor, descriptor, move, first, count)


def copy_moved(source: int, target: int, moves: list[Move]) -> None:
    """Carry out moves from one file to another, new one."""
    for move in moves:
        for first, count in _windows(move):
            _move_window(source, target, move, first, count)


def _windows(move: Move) -> Iterator[tuple[int, int]]:
    """Yield (first piece, count) from the last ones to the first: as many small pieces as fit, or one large one."""
    count = max(1, PIECE_BYTES // move.new_step)
    for first in range((move.count - 1) // count * count, -1, -count):
        yield first, min(count, move.count - first)


def _move_window(source: int, target: int, move: Move, first: int, count: int) -> None:
    begin, to = move.begin + first * move.step, move.to + first * move.new_step
    if count == 1:
        _shift(source, target, begin, move.step, to)
        clear(target, to + move.step, to + move.new_step)
    elif _is_stored(source, begin, count * move.step) or _is_stored(target, to, count * move.new_step):
        spread = np.zeros((count, move.new_step), np.uint8)
        data = read_at(source, count * move.step, begin).ljust(count * move.step, b"\0")
        spread[:, : move.step] = np.frombuffer(data, np.uint8).reshape(count, move.step)
        write_all(target, spread.reshape(-1).data, to)


def _shift(source: int, target: int, begin: int, nbytes: int, to: int) -> None:
    """Move bytes to a higher place, or copy them to another file."""
    end = min(begin + nbytes, os.fstat(source).st_size)
    if source != target:
        for stored_begin, stored_end in stored_ranges(source, begin, end):
            for at in range(stored_begin, stored_end, PIECE_BYTES):
                _copy(source, target, at, min(PIECE_BYTES, stored_end - at), at - begin + to)
        return
    by = to - begin
    if by == 0:
        return
    # Also what is a hole is moved where it goes over something else, which must become zeros.
    covered = ((max(b - by, begin), min(e - by, end)) for b, e in stored_ranges(target, to, end + by))
    for stored_begin, stored_end in reversed(_merged([*stored_ranges(source, begin, end), *covered])):
        for piece_end in range(stored_end, stored_begin, -PIECE_BYTES):
            at = max(piece_end - PIECE_BYTES, stored_begin)
            write_all(target, read_at(source, piece_end - at, at), at + by)


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _is_stored(descriptor: int, begin: int, nbytes: int) -> bool:
    return next(stored_ranges(descriptor, begin, begin + nbytes), None) is not None


def _copy(source: int, target: int, at: int, count: int, to: int) -> None:
    """Copy bytes to another file; the file system does so itself where it can."""
    done = 0
    with contextlib.suppress(OSError):
        done = os.copy_file_range(source, target, count, at, to)
    write_all(target, read_at(source, count - done, at + done), to + done)
