"""Chunks of a size that suits, where nobody says which."""

from __future__ import annotations

from swath import _core


def default_chunks(shape: tuple[int, ...], itemsize: int, bytes_max: int) -> tuple[int, ...]:
    """Return chunks of at most so many bytes, or of one element: the longest dimensions are halved.

    A dimension of length 0 is one that grows: a chunk holds one row of it, or more of small ones.
    """
    return tuple(_core.default_chunks(shape, itemsize, bytes_max))
