"""Buffers of a loop's steps. A buffer is reused when the program has no reference to it or to a view of it."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np

from swath.space import Shape

Values = np.ndarray[Any, np.dtype[Any]]
KEPT_MAX = 3
"""The number of kept buffers: of the step in use, the previous step, and a free one."""


class Buffers:
    """The arrays of the latest steps. An array is free when no one else has a reference to it or to a view of it.

    New memory would cost a page fault for each page, in the thread that reads while the program computes.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        # In a Python without GIL, a count of references is not reliable.
        self._works = getattr(sys, "_is_gil_enabled", lambda: True)() and not dtype.hasobject
        self._kept: list[Values] = []

    def give(self, values: Any) -> None:
        """Remember an array that the program gets now."""
        if self._works and type(values) is np.ndarray and values.ndim > 0 and values.flags.owndata:
            self._kept.append(values)
            del self._kept[:-KEPT_MAX]

    def take(self, shape: Shape) -> Values | None:
        """Return a free C-ordered array of that shape, with any contents; None if there is none.

        In that case all free arrays are dropped, because the caller needs memory for an array of another shape.
        """
        free = [i for i in range(len(self._kept)) if _references(self._kept, i) == _ALONE]
        for i in free:
            if self._is_as_made(self._kept[i], shape):
                return self._kept.pop(i)
        for i in reversed(free):
            del self._kept[i]
        return None

    def _is_as_made(self, values: Values, shape: Shape) -> bool:
        """Return whether the array still has the shape and flags of a new one, which the program may have changed."""
        flags = values.flags
        is_same = values.shape == shape and values.dtype == self._dtype
        return is_same and flags.c_contiguous and flags.writeable and weakref.getweakrefcount(values) == 0


def _references(kept: list[Any], i: int) -> int:
    return sys.getrefcount(kept[i])


_ALONE = _references([np.empty(1)], 0)
