"""Operations of places on an array, and the memory for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from swath import _core
from swath.array.memory import Part, checked_out, checked_values, new_part
from swath.array.picking import Picked
from swath.array.placed import Placed
from swath.array.places import Places
from swath.array.request import Request
from swath.errors import ArgumentError
from swath.formats.description import CodedLayout, Description, LibraryLayout
from swath.ranks.ranks import Ranks
from swath.space import Shape

PLACES_KEPT = 4
"""The number of `Places` objects whose resolved form an array caches; each may have very many indices."""


class PlacedParts(list[Any]):
    """The memory of places, as the core takes it.

    Attributes:
        finish: makes the result from it after a read.
    """

    def __init__(self, moved: list[Any], finish: Callable[[], Part]) -> None:
        super().__init__(moved)
        self.finish = finish


class Placing:
    """Makes operations and memory for places of one array, as it is stored now."""

    def __init__(self, description: Description, form: _core.ArrayForm, ranks: Ranks) -> None:
        self._description = description
        self._form = form
        self._rank, self._size = ranks.rank, ranks.size
        self._is_picked = isinstance(description.layout, (CodedLayout, LibraryLayout))
        self._placed = functools.lru_cache(PLACES_KEPT)(functools.partial(_placed, description))
        self._picked = functools.lru_cache(PLACES_KEPT)(functools.partial(_picked, description))
        self._own = functools.lru_cache(2 * PLACES_KEPT)(
            functools.partial(_own, ranks.rank, ranks.size, description.shape)
        )

    def operation(self, request: Request, sizes: Any) -> _core.Operation:
        """Return the requested operation. Raise ArgumentError if the request is invalid."""
        direction, places = request.direction, _places_of(request)
        where = f"{direction} {self._description.name}"
        if request.selection is not ...:
            raise ArgumentError(f"{where}: places are of the whole array; leave out the selection")
        if request.rank is not None:
            raise ArgumentError(f"{where}: places are this rank's own; leave out rank={request.rank}")
        if self._is_picked:
            return self._operation_of_boxes(request, sizes)
        placed = self._placed(places)
        writes = direction == "write"
        if writes and not places.overlap and (repeated := placed.repeated()):
            raise ArgumentError(
                f"{where}: {repeated}; each element must be written once (or give overlap=True: the last value of a "
                "rank then stays)"
            )
        return _core.Operation(
            self._form, direction, self._own(placed, writes and places.overlap), request.method, sizes
        )

    def _operation_of_boxes(self, request: Request, sizes: Any) -> _core.Operation:
        if request.direction == "write":
            raise ArgumentError(
                f"write {self._description.name}: places in chunks that are coded, or that only a library reaches, are "
                "not written one by one; write swath.Boxes, or read the boxes around them, change them and write them "
                "back"
            )
        boxes = self._picked(_places_of(request)).boxes
        own = _core.Decomposition.own_boxes(boxes.boxes, self._rank, self._size, self._description.shape)
        return _core.Operation(self._form, request.direction, own, request.method, sizes)

    def nothing(self, request: Request) -> _core.Operation:
        """Return a write of no places. It is collective for ranks that write places."""
        own = _core.Decomposition.own_view(
            _core.Nest(), self._rank, self._size, self._description.shape, _places_of(request).overlap
        )
        return _core.Operation(self._form, "write", own, request.method, ())

    def without_memory(self) -> PlacedParts:
        """Return the memory of no places."""
        nothing = np.empty(0, self._description.dtype)
        return PlacedParts([_core.ViewMemory(nothing, _core.Nest())], lambda: nothing)

    def to_read(self, request: Request, out: Any) -> PlacedParts:
        """Return the memory to read into. Raise ArgumentError if `out` does not match."""
        places, dtype = _places_of(request), self._description.dtype
        found = self._picked(places) if self._is_picked else self._placed(places)
        what = functools.partial(str, f"read places of {self._description.name}")
        result = (
            new_part(found.shape, dtype, what)
            if out is None
            else checked_out(out, [found.shape], dtype, boxes=False)[0]
        )
        stored = result if result.dtype == dtype else result.view(dtype)
        if isinstance(found, Picked):
            parts = [new_part(shape, dtype, what) for shape in found.boxes.shapes]
            return PlacedParts(parts, functools.partial(_picked_into, found, parts, result, stored))
        if found.has_absent:
            stored[...] = np.frombuffer(self._description.fill or bytes(dtype.itemsize), dtype)[0]
        memory = _core.ViewMemory(result, found.memory(result))
        return PlacedParts([memory], functools.partial(_repeated_in, found, result))

    def to_write(self, request: Request, values: Any) -> PlacedParts:
        """Return the memory to write from. Raise ArgumentError if `values` do not match."""
        placed = self._placed(_places_of(request))
        part = checked_values(values, [placed.shape], self._description.dtype, boxes=False)[0]
        return PlacedParts([_core.ViewMemory(part, placed.memory(part))], lambda: part)

    def in_boxes(self, request: Request) -> Request:
        """Return the request to the format's library: the boxes around the places."""
        return request._replace(distribution=self._picked(_places_of(request)).boxes)


def _placed(description: Description, places: Places) -> Placed:
    return Placed(places, description, f"{description.name}: ")


def _picked(description: Description, places: Places) -> Picked:
    return Picked(places, description, f"{description.name}: ")


def _own(rank: int, ranks: int, shape: Shape, placed: Placed, allows_overlap: bool) -> _core.Decomposition:
    # All operations share it, so it is hashed once.
    return _core.Decomposition.own_view(placed.nest, rank, ranks, shape, allows_overlap)


def _places_of(request: Request) -> Places:
    assert isinstance(request.distribution, Places)
    return request.distribution


def _repeated_in(placed: Placed, result: Part) -> Part:
    placed.repeat(result)
    return result


def _picked_into(picked: Picked, parts: list[Part], result: Part, stored: Part) -> Part:
    picked.pick(parts, stored)
    return result
