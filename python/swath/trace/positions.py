"""Computes offsets of reads and writes at the file position, from opens, seeks and lengths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from swath.trace.log import UNKNOWN

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def positions(group: Int64s, begins: Int64s, moves: Int64s, depth: Int64s) -> Int64s:
    """Return the file position before each call.

    Args:
        group: calls on one file by one process have the same number. The calls of a group are adjacent, in the order
            of time.
        begins: the position that a call sets (0 for an open, the result of a seek); UNKNOWN if the position that it
            sets is not known; less than UNKNOWN if it sets none.
        moves: the number of bytes by which a call advances the position.
        depth: 1 for an open, -1 for a close. While a file is open twice it has two positions, which are not known.
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
