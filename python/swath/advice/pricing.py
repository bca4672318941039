"""Seconds of accesses by a layout that no file has yet: the planner's prices, from the profile of a store."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from swath import _core
from swath.advice.accesses import Operations
from swath.advice.candidates import Candidate, Extents
from swath.formats.description import strides_of


@dataclass(frozen=True)
class Conditions:
    """What accesses are priced under.

    Attributes:
        profile: of the store.
        cached: part of what is read that is in the page cache, 0 to 1.
        engine: what moves the bytes.
    """

    profile: _core.Profile
    cached: float = 0.0
    engine: str = "auto"


class Pricer:
    """Prices layouts of one array for its accesses.

    Args:
        shape: of the array.
        itemsize: bytes of an element.
        accesses: that are priced.
        conditions: of the store.
    """

    def __init__(
        self,
        shape: Extents,
        itemsize: int,
        accesses: Sequence[Operations],
        conditions: Conditions,
    ) -> None:
        self.shape = shape
        self.itemsize = itemsize
        self.accesses = tuple(accesses)
        self.cached = conditions.cached
        self._learning = _core.Learning(conditions.profile, True)
        # An engine tells what it can do of a file that is open; nothing is read of it.
        with tempfile.NamedTemporaryFile() as file:
            self._file = _core.open_file(file.name, "r", _core.FileOptions(conditions.engine))

    def layout(self, candidate: Candidate) -> _core.Layout:
        """Return the core's layout; its first element is at byte 0."""
        if candidate.chunks is None:
            strides = strides_of(self.shape, self.itemsize, candidate.order)
            return _core.Layout.strided(self.shape, self.itemsize, 0, strides)
        return _core.Layout.tiled(self.shape, self.itemsize, candidate.chunks, 0)

    def seconds(self, layout: _core.Layout, most: float = math.inf) -> tuple[float, ...] | None:
        """Return the seconds of each access, made once; of a write with what a sync then waits for.

        None where all accesses as often as they are made take more than `most`.
        """
        form = _core.ArrayForm("advice", self.shape, self.itemsize, layout)
        given = {"name": "advice", "learning": self._learning, "is_new": True}
        array = _core.Array(_core.solo_comm(), self._file, form, b"", given)
        seconds: list[float] = []
        left = most
        for access in self.accesses:
            share = len(access.decompositions)
            mean = 0.0
            for decomposition in access.decompositions:
                operation = _core.Operation(form, access.direction, decomposition)
                price = array.explain(operation, self.cached).price
                one = (price["seconds"] + price["sync"]) / share
                mean += one
                left -= one * access.times
                if left < 0:
                    return None
            seconds.append(mean)
        return tuple(seconds)

    def total(self, seconds: Sequence[float]) -> float:
        """Return the seconds of all accesses, each as often as it is made."""
        return sum(one * access.times for one, access in zip(seconds, self.accesses, strict=True))
