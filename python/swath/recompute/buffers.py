"""Memory for batches on their way from and to the disk, which is used again once nobody has hold of it.

New memory comes from the system a page at a time, zeroed: that takes as long as reading what the page cache holds.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]

LARGER_MAX = 2
"""A batch gets memory that is at most so many times as large as it is."""


class Buffers:
    """Memory that was given out before, as far as it is no more than a limit.

    A NumPy array keeps alive the one that owns its memory, whichever views and reshapes lie between them: where nobody
    but this list refers to the owner, the program has let go of all of it.

    Args:
        bytes_max: that are kept.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._owners: list[Values] = []
        self._bytes = 0

    def take(self, nbytes: int) -> Values:
        """Return so many bytes, whatever they hold."""
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
        """Forget all of it: what is in use belongs to who uses it."""
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
    """Return what `sys.getrefcount` says of an object that only a list refers to, asked for as above."""
    owners = [np.empty(0, np.uint8)]
    return sys.getrefcount(owners[0])


UNUSED_COUNT = _unused_count()
