"""Buffers of a loop's steps. A buffer is used again when the program holds neither it nor a view of it."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np

from swath.space import Shape

Values = np.ndarray[Any, np.dtype[Any]]
KEPT_MAX = 3
"""The step in use, the one before it, and one that is free."""


class Buffers:
    """The arrays of the latest steps. One is free when nobody else has it, or a view of it, any more.

    New memory costs a fault for each page, which the reading thread takes while the program computes in another one.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        # Without a lock around the interpreter a count of references tells nothing.
        self._works = getattr(sys, "_is_gil_enabled", lambda: True)() and not dtype.hasobject
        self._kept: list[Values] = []

    def give(self, values: Any) -> None:
        """Remember an array that is now given to the program."""
        if self._works and type(values) is np.ndarray and values.ndim > 0 and values.flags.owndata:
            self._kept.append(values)
            del self._kept[:-KEPT_MAX]

    def take(self, shape: Shape) -> Values | None:
        """Return a C-ordered array of that shape that nobody has, with anything in it; None where there is none.

        Then those that nobody has are given up: whoever makes one of another shape needs their memory.
        """
        free = [i for i in range(len(self._kept)) if _references(self._kept, i) == _ALONE]
        for i in free:
            if self._is_as_made(self._kept[i], shape):
                return self._kept.pop(i)
        for i in reversed(free):
            del self._kept[i]
        return None

    def _is_as_made(self, values: Values, shape: Shape) -> bool:
        """Return whether the array still has the shape and flags of a new one: the program may have changed them."""
        flags = values.flags
        is_same = values.shape == shape and values.dtype == self._dtype
        return is_same and flags.c_contiguous and flags.writeable and weakref.getweakrefcount(values) == 0


def _references(kept: list[Any], i: int) -> int:
    return sys.getrefcount(kept[i])


_ALONE = _references([np.empty(1)], 0)
