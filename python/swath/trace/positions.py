"""The offsets of reads and writes that go on where the last one ended, from the opens and seeks between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from swath.trace.log import UNKNOWN

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def positions(group: Int64s, begins: Int64s, moves: Int64s, depth: Int64s) -> Int64s:
    """Return where the file's position was before each call.

    Args:
        group: calls on one file by one process have the same number. Those of a group follow each other, in the order
            of time.
        begins: where a call puts the position (0 for an open, the result of a seek); UNKNOWN where a call puts it
            somewhere, but nobody knows where; smaller where it only moves it.
        moves: by how many bytes a call moves the position.
        depth: 1 for an open, -1 for a close: while a file is open twice there are two positions, and none is known.
    """
    calls = np.arange(len(group))
    is_first = np.ones(len(group), bool)
    is_first[1:] = group[1:] != group[:-1]
    puts = is_first | (begins >= UNKNOWN)
    put_at = np.maximum.accumulate(np.where(puts, calls, 0))
    put = np.where(begins >= 0, begins, UNKNOWN)[put_at]
    moved = np.cumsum(moves) - moves
    is_open = _since(np.maximum.accumulate(np.where(is_first, calls, 0)), depth)
    is_known = (put >= 0) & (is_open <= 1)
    return np.where(is_known, put + moved - moved[put_at], UNKNOWN)


def _since(first: npt.NDArray[np.intp], steps: Int64s) -> Int64s:
    summed = np.cumsum(steps)
    return summed - (summed - steps)[first] if len(steps) else summed
