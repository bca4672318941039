"""Places in an array as it is stored: their bytes in the file, and the places of these bytes in memory."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.array.levels import Level, Product, Repeats, Storage
from swath.array.memory import Part
from swath.array.places import Indices, Places
from swath.formats.description import Description
from swath.space import Shape

Nest = _core.Nest
Steps: TypeAlias = "tuple[int, ...]"
"""The step to the next element along each axis, in bytes or in elements."""


class _List:
    """A piece with at most one level: a list of elements in the order of the file."""

    def __init__(self, product: Product, storage: Storage) -> None:
        self._element_bytes = storage.element_bytes
        level = product.levels[0] if product.levels else None
        places = np.zeros(0 if product.is_empty else 1, np.int64) if level is None else level.places
        self._positions = None if level is None else level.positions  # None: consecutive
        self._level = level
        self._offsets, self._origin = places, product.place
        self.has_absent = False
        if product.is_empty:
            pass
        elif level is None or level.chunks is None:
            origin = int(storage.offsets(np.array([product.chunk]))[0])
            self._origin += origin
            if origin < 0:
                self._keep(np.zeros(places.shape, dtype=bool))
        else:
            offsets = storage.offsets(product.chunk + level.chunks)
            self._offsets = offsets + places
            if bool((offsets < 0).any()):
                self._keep(offsets >= 0)
            if not (self._offsets[1:] > self._offsets[:-1]).all():
                order = np.argsort(self._offsets, kind="stable")
                self._offsets = self._offsets[order]
                self._positions = order if self._positions is None else self._positions[order]
        self._count = len(self._offsets)
        self.nest = Nest.indexed(self._offsets, Nest.block(self._element_bytes)).shifted(self._origin)

    def _keep(self, is_there: npt.NDArray[np.bool_]) -> None:
        self.has_absent = not is_there.all()
        if self._level is not None:
            self._positions = self._level.flat_positions()[is_there]
        self._offsets = self._offsets[is_there]

    def offsets(self) -> Indices:
        """Return the offset of each element, in the order of the file."""
        return self._offsets + self._origin

    def forget_offsets(self) -> None:
        """Free the offsets: the nest has them."""
        self._offsets = np.zeros(0, np.int64)
        if self._level is not None:
            self._level.forget_places()

    def along(self, steps: Steps) -> Indices:
        """Return the distance in the result of each element from the first."""
        if self._level is None:
            return np.zeros(self._count, dtype=np.int64)
        return self._level.along(steps, self._level.flat_positions() if self._positions is None else self._positions)

    def memory(self, steps: Steps) -> Nest:
        block = Nest.block(self._element_bytes)
        if self._level is None or self._positions is not None:
            return Nest.indexed(self.along(steps), block)
        for axis, length in zip(reversed(self._level.axes), reversed(self._level.lengths), strict=True):
            block = Nest.strided(length, steps[axis], block)
        return block


class _Nested:
    """A piece with several levels: a nest of levels for each chunk, in the order of the file."""

    def __init__(self, product: Product, storage: Storage) -> None:
        self._element_bytes = storage.element_bytes
        self._levels = product.levels
        chunks = list(product.chunks())
        offsets = storage.offsets(np.array([number for number, _ in chunks], dtype=np.int64))
        order = np.argsort(offsets, kind="stable")
        order = order[offsets[order] >= 0]
        self.has_absent = len(order) < len(chunks)
        self._chunks = [chunks[place][1] for place in order]
        self._offsets = offsets[order] + product.place
        self.nest = self._nest([level.places for level in self._levels], self._offsets)

    def _nest(self, of_levels: list[Indices], origins: Indices) -> Nest:
        children = []
        for slices in self._chunks:
            nest = Nest.block(self._element_bytes)
            for distances, of_chunk in zip(reversed(of_levels), reversed(slices), strict=True):
                nest = Nest.indexed(distances[of_chunk], nest)
            children.append(nest)
        return Nest.sequence(origins, children)

    def _along_levels(self, steps: Steps) -> list[Indices]:
        return [level.along(steps, level.flat_positions()) for level in self._levels]

    def along(self, steps: Steps) -> Indices:
        """Return the distance in the result of each element from the first, in the order of the file."""
        return self._listed(self._along_levels(steps), np.zeros(len(self._chunks), np.int64))

    def _listed(self, of_levels: list[Indices], origins: Indices) -> Indices:
        listed = [np.zeros(0, np.int64)]
        for origin, slices in zip(origins, self._chunks, strict=True):
            parts = [of_level[of_chunk] for of_level, of_chunk in zip(of_levels, slices, strict=True)]
            listed.append(origin + functools.reduce(np.add.outer, parts).ravel())
        return np.concatenate(listed)

    def memory(self, steps: Steps) -> Nest:
        return self._nest(self._along_levels(steps), np.zeros(len(self._chunks), np.int64))

    def forget_offsets(self) -> None:
        """Free the offsets: the nest has them."""
        for level in self._levels:
            level.forget_places()

    def offsets(self) -> Indices:
        """Return the offset of each element, in the order of the file."""
        return self._listed([level.places for level in self._levels], self._offsets)


class _Merged:
    """Pieces whose elements interleave in the file: a list of all elements, each once, in the order of the file."""

    def __init__(self, pieces: list[_List | _Nested], positions: list[Indices], element_bytes: int) -> None:
        self._element_bytes = element_bytes
        offsets = np.concatenate([piece.offsets() for piece in pieces])
        of_result = np.concatenate(positions)
        order = np.lexsort((of_result, offsets))
        offsets, of_result = offsets[order], of_result[order]
        is_last = np.append(np.diff(offsets) != 0, True)
        self.repeats: Repeats | None = None
        if not is_last.all():
            kept = of_result[is_last]
            again = ~is_last
            self.repeats = Repeats(of_result[again], kept[np.cumsum(np.append(0, is_last[:-1]))[again]])
            offsets, of_result = offsets[is_last], kept
        self._positions = of_result
        self.nest = Nest.indexed(offsets, Nest.block(element_bytes))

    def memory(self, step: int) -> Nest:
        return Nest.indexed(self._positions * step, Nest.block(self._element_bytes))


class Placed:
    """The places of one rank in an array as it is stored.

    Attributes:
        shape: the shape of the result.
        nest: the bytes in the file, ascending.
        has_absent: whether some elements are in chunks that are not in the file yet.
    """

    def __init__(self, places: Places, description: Description, where: str) -> None:
        storage = Storage(description)
        products = [Product(piece, storage) for piece in places._resolved(description.shape, where)]
        self._is_flat = places._is_flat
        self.shape: Shape = products[0].shape if not self._is_flat else (sum(_size(p.shape) for p in products),)
        begins = np.cumsum([0, *(_size(product.shape) for product in products)]).tolist()
        pieces = [_in_file(product, storage) for product in products]
        self.has_absent = any(piece.has_absent for piece in pieces)
        self._repeats = [(begin, product) for begin, product in zip(begins, products, strict=False)]
        self._pieces = [(begin, p.shape, piece) for begin, p, piece in zip(begins, products, pieces, strict=False)]
        self._pieces = sorted((p for p in self._pieces if p[2].nest.bytes > 0), key=lambda p: p[2].nest.low)
        self._merged: _Merged | None = None
        if any(a[2].nest.high > b[2].nest.low for a, b in itertools.pairwise(self._pieces)):
            positions = [begin + piece.along(c_steps(shape, 1)) for begin, shape, piece in self._pieces]
            self._merged = _Merged([piece for _, _, piece in self._pieces], positions, storage.element_bytes)
            self._pieces = []
            self.nest = self._merged.nest
        else:
            self.nest = _sequence([piece.nest for _, _, piece in self._pieces], [0] * len(self._pieces))
        for piece in pieces:
            piece.forget_offsets()
        self._packed: Nest | None = None

    def memory(self, part: Part) -> Nest:
        """Return the places of the bytes of `nest` in an array of the result's shape, from its first element on."""
        if not part.flags.c_contiguous:
            return self._memory(part.strides)
        if self._packed is None:
            self._packed = self._memory(c_steps(self.shape, part.itemsize))
        return self._packed

    def _memory(self, steps: Steps) -> Nest:
        if self._merged is not None:
            return self._merged.memory(steps[0])
        if not self._is_flat:
            return self._pieces[0][2].memory(steps) if self._pieces else Nest()
        (step,) = steps
        nests = [piece.memory(c_steps(shape, step)) for _, shape, piece in self._pieces]
        return _sequence(nests, [begin * step for begin, _, _ in self._pieces])

    def repeat(self, part: Part) -> None:
        """Copy each element that was read to all its other places."""
        if self._merged is not None and self._merged.repeats is not None:
            part[self._merged.repeats.again] = part[self._merged.repeats.first]
        for begin, product in self._repeats:
            of_piece = part[begin : begin + _size(product.shape)].reshape(product.shape) if self._is_flat else part
            for level in product.levels:
                if level.repeats is not None:
                    _repeat_level(of_piece, level, level.repeats)

    def repeated(self) -> str:
        """Return the first repeated place in words; "" if there is none."""
        for number, (_, product) in enumerate(self._repeats):
            for level in product.levels:
                if level.repeats is not None:
                    one, other = (
                        tuple(int(i) for i in np.unravel_index(positions[0], level.lengths))
                        for positions in (level.repeats.again, level.repeats.first)
                    )
                    part = f"part {number}: " if self._is_flat else ""
                    dimensions = ", ".join(map(str, sorted(level.dimensions))) or "all"
                    along = "axis" if len(level.axes) == 1 else "axes"
                    return (
                        f"{part}places {_place(one)} and {_place(other)} along {along} {_place(level.axes)} are the "
                        f"same in dimension {dimensions}"
                    )
        if self._merged is not None and self._merged.repeats is not None:
            repeats = self._merged.repeats
            return f"elements {repeats.again[0]} and {repeats.first[0]} of the union are the same"
        return ""


def c_steps(shape: Shape, step: int) -> Steps:
    """Return the step to the next element along each axis in C order; `step` is that of the last axis."""
    return tuple(step * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _in_file(product: Product, storage: Storage) -> _List | _Nested:
    return _List(product, storage) if len(product.levels) < 2 else _Nested(product, storage)


def _sequence(nests: list[Nest], origins: list[int]) -> Nest:
    return Nest.sequence(np.array(origins, dtype=np.int64), nests)


def _size(shape: Shape) -> int:
    return math.prod(shape)


def _place(numbers: tuple[int, ...]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else str(numbers)


def _repeat_level(part: Part, level: Level, repeats: Repeats) -> None:
    along = np.moveaxis(part, level.axes, range(len(level.axes)))
    again, first = (np.unravel_index(positions, level.lengths) for positions in (repeats.again, repeats.first))
    along[again] = along[first]
