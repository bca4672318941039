"""Memory for reads and writes of batches, used again when there are no references to it.

New memory comes from the system page by page, zeroed: this takes as long as a read from the page cache.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]

LARGER_MAX = 2
"""A batch gets memory that is at most this many times as large as the batch."""


class Buffers:
    """Memory that is used again, up to a limit of bytes.

    A NumPy array keeps the owner of its memory alive, through all views and reshapes: if only this list refers to the
    owner, the program has released all of it.

    Args:
        bytes_max: the limit.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._owners: list[Values] = []
        self._bytes = 0

    def take(self, nbytes: int) -> Values:
        """Return memory of this many bytes, with any content."""
        for index in range(len(self._owners)):
            if self._is_free(index) and nbytes <= self._owners[index].nbytes <= LARGER_MAX * nbytes:
                return self._owners[index][:nbytes]
        owner: Values = np.empty(nbytes, np.uint8)
        self._make_room(nbytes)
        if self._bytes + nbytes <= self._bytes_max:
            self._owners.append(owner)
            self._bytes += nbytes
        return owner[:]

    def clear(self) -> None:
        """Forget all memory: memory in use belongs to its users."""
        self._owners.clear()
        self._bytes = 0

    def _is_free(self, index: int) -> bool:
        return sys.getrefcount(self._owners[index]) == UNUSED_COUNT

    def _make_room(self, nbytes: int) -> None:
        index = 0
        while index < len(self._owners) and self._bytes + nbytes > self._bytes_max:
            if self._is_free(index):
                self._bytes -= self._owners.pop(index).nbytes
            else:
                index += 1


def _unused_count() -> int:
    """Return the result of `sys.getrefcount` for an object that only a list refers to, called as above."""
    owners = [np.empty(0, np.uint8)]
    return sys.getrefcount(owners[0])


UNUSED_COUNT = _unused_count()
