"""Chunks of a size that suits, where nobody says which."""

from __future__ import annotations

import math
from collections.abc import Callable

_GROWING_BYTES = 1 << 16
"""Of a chunk of an array that grows, where its rows are small."""
_GROWING_ROWS_MAX = 1 << 10


def half(length: int) -> int:
    """Return half of a length, at least."""
    return -(-length // 2)


def default_chunks(
    shape: tuple[int, ...], itemsize: int, bytes_max: int, shorter: Callable[[int], int] = half
) -> tuple[int, ...]:
    """Return chunks of at most so many bytes, or of one element: the longest dimensions become `shorter`.

    A dimension of length 0 is one that grows: a chunk holds one row of it, or more of small ones.
    """
    lengths = [max(n, 1) for n in shape]
    while math.prod(lengths) * itemsize > bytes_max and max(lengths) > 1:
        longest = lengths.index(max(lengths))
        lengths[longest] = shorter(lengths[longest])
    if 0 in shape:
        rows = _GROWING_BYTES // (math.prod(lengths) * itemsize)
        lengths[shape.index(0)] = max(min(rows, _GROWING_ROWS_MAX), 1)
    return tuple(lengths)
