"""The default shape of chunks."""

from __future__ import annotations

from swath import _core


def default_chunks(shape: tuple[int, ...], itemsize: int, bytes_max: int) -> tuple[int, ...]:
    """Return chunks of at most `bytes_max` bytes, or of one element: the longest dimensions are halved.

    A dimension of length 0 grows: a chunk has one row of it, or more if rows are small.
    """
    return tuple(_core.default_chunks(shape, itemsize, bytes_max))
