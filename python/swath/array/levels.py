"""Places of an array as products of levels.

A level is a list of elements along some axes of the result, whose index arrays vary together. A product has all
combinations of the elements of its levels, but takes only the memory of their lists. In a file a product is a nest: all
elements of an inner level lie in the gap between two elements of the next outer one.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from swath.array.places import Indices, Resolved
from swath.errors import InternalError
from swath.formats.description import ChunkedLayout, CodedLayout, Description, LibraryLayout, StridedLayout, TiledLayout
from swath.space import Shape

NO_GAP = np.iinfo(np.int64).max


class Storage:
    """Where elements are stored: their chunk, and their place in it. An array without chunks counts as one chunk.

    Attributes:
        chunk_shape: the shape of a chunk; the array's shape if there are no chunks.
        strides: the strides inside a chunk, in bytes; zeros for coded chunks.
        is_chunked: whether there are chunks.
        steps: the difference in chunk number between neighbours along each dimension.
        element_bytes: the bytes of an element.
    """

    def __init__(self, description: Description) -> None:
        layout, shape = description.layout, description.shape
        self.element_bytes = description.dtype.itemsize
        self.chunk_shape: Shape = tuple(max(n, 1) for n in shape)
        chunk_shape = getattr(layout, "chunk_shape", None)
        if chunk_shape is not None:
            self.chunk_shape = tuple(max(n, 1) for n in chunk_shape)
        grid = [-(-n // chunk) for n, chunk in zip(shape, self.chunk_shape, strict=True)]
        self.steps = [math.prod(grid[d + 1 :]) for d in range(len(grid))]
        self.is_chunked = chunk_shape is not None
        self._layout = layout
        if isinstance(layout, StridedLayout):
            self.strides: Shape = tuple(layout.strides)
        elif isinstance(layout, (CodedLayout, LibraryLayout)):
            self.strides = (0,) * len(shape)
        else:
            inner = self.chunk_shape
            self.strides = tuple(math.prod(inner[d + 1 :]) * self.element_bytes for d in range(len(inner)))

    def offsets(self, chunks: Indices) -> Indices:
        """Return the offsets of these chunks in the file; -1 for absent ones."""
        layout = self._layout
        if isinstance(layout, StridedLayout):
            return np.full(chunks.shape, layout.offset, dtype=np.int64)
        if isinstance(layout, TiledLayout):
            return layout.offset + chunks * (math.prod(self.chunk_shape) * self.element_bytes)
        if isinstance(layout, ChunkedLayout):
            return np.ascontiguousarray(layout.offsets, dtype=np.int64).ravel()[chunks]
        raise InternalError("coded chunks have no places in a file")


@dataclasses.dataclass(frozen=True)
class Repeats:
    """Repeated elements of a level.

    Attributes:
        again: flat positions of repeated elements along the level's axes.
        first: for each of them, the position of the same element that is read.
    """

    again: Indices
    first: Indices


class Level:
    """A list of elements along some axes, in the order of chunks and, inside a chunk, of the file.

    Attributes:
        axes: the axes of the result, ascending.
        lengths: the lengths along them.
        dimensions: the dimensions of the array whose indices vary along the axes.
        chunks: this level's part of the chunk number (parts of all levels are added); None if there is one chunk.
        places: this level's part of the offset in the chunk, in bytes.
        positions: flat positions along the axes; None if they are consecutive.
        repeats: repeated elements, which are left out; None if there are none.
    """

    def __init__(self, axes: tuple[int, ...], dimensions: tuple[int, ...], piece: Resolved, storage: Storage) -> None:
        self.axes, self.dimensions = axes, dimensions
        self.lengths = tuple(piece.shape[axis] for axis in axes)
        self.chunks: Indices | None = None
        places: Indices | None = None
        for d in dimensions:
            indices = self.along_axes(piece.indices[d])
            chunk, within = _divided(indices, storage.chunk_shape[d]) if storage.is_chunked else (None, indices)
            places = _sum(places, within * storage.strides[d])
            if chunk is not None:
                self.chunks = _sum(self.chunks, chunk * storage.steps[d])
        self.places = np.zeros(math.prod(self.lengths), dtype=np.int64) if places is None else places
        self.positions: Indices | None = None
        self.repeats: Repeats | None = None

    def along_axes(self, indices: Indices) -> Indices:
        """Return the indices of a dimension for each position along the axes."""
        lengths = [1] * indices.ndim
        for axis, length in zip(self.axes, self.lengths, strict=True):
            lengths[axis] = length
        return np.ascontiguousarray(np.broadcast_to(indices, lengths)).ravel()

    def sort(self) -> None:
        """Sort the elements in the order of the file, each once: of repeated elements the last one is kept."""
        if self._ascends():
            return
        if self.chunks is None:
            order = np.argsort(self.places, kind="stable")
        else:
            order = np.lexsort((self.places, self.chunks))
            self.chunks = self.chunks[order]
        self.places = self.places[order]
        is_last = np.append(self._differs(), True)
        if not is_last.all():
            of_kept = np.cumsum(np.append(0, is_last[:-1]))
            kept = order[is_last]
            again = ~is_last
            self.repeats = Repeats(order[again], kept[of_kept[again]])
            order, self.places = kept, self.places[is_last]
            self.chunks = None if self.chunks is None else self.chunks[is_last]
        self.positions = order

    def _ascends(self) -> bool:
        behind = self.places[1:] > self.places[:-1]
        if self.chunks is None:
            return bool(behind.all())
        this, other = self.chunks[1:], self.chunks[:-1]
        return bool(((this > other) | ((this == other) & behind)).all())

    def _differs(self) -> npt.NDArray[np.bool_]:
        differs: npt.NDArray[np.bool_] = self.places[1:] != self.places[:-1]
        if self.chunks is not None:
            differs |= self.chunks[1:] != self.chunks[:-1]
        return differs

    def segments(self) -> list[tuple[int, slice]]:
        """Return (chunk, slice of its elements) for each chunk."""
        count = len(self.places)
        if self.chunks is None:
            return [(0, slice(0, count))]
        begins = np.flatnonzero(np.append(True, np.diff(self.chunks) != 0))
        ends = [*begins[1:].tolist(), count]
        return [(int(self.chunks[b]), slice(b, e)) for b, e in zip(begins.tolist(), ends, strict=True)]

    def gap(self) -> int:
        """Return the smallest distance between two elements of a chunk."""
        step = np.diff(self.places)
        if self.chunks is not None:
            step = step[np.diff(self.chunks) == 0]
        return int(step.min()) if step.size else NO_GAP

    def span(self) -> int:
        """Return the largest distance between two elements of a chunk."""
        return max((int(self.places[s.stop - 1] - self.places[s.start]) for _, s in self.segments()), default=0)

    def forget_places(self) -> None:
        """Free the places, once they are stored elsewhere; only the positions are still needed."""
        self.places = np.zeros(0, np.int64)
        self.chunks = None

    def flat_positions(self) -> Indices:
        """Return the positions along the axes."""
        return np.arange(math.prod(self.lengths), dtype=np.int64) if self.positions is None else self.positions

    def along(self, steps: tuple[int, ...], positions: Indices) -> Indices:
        """Return the distance of each position from the first one, for the given step along each axis."""
        if len(self.axes) == 1:
            return positions * steps[self.axes[0]]
        of_axes = np.unravel_index(positions, self.lengths)
        found = np.zeros(len(positions), dtype=np.int64)
        for axis, coordinates in zip(self.axes, of_axes, strict=True):
            found += coordinates * steps[axis]
        return found


def _sum(some: Indices | None, more: Indices) -> Indices:
    if some is None:
        return more
    some += more
    return some


def _divided(indices: Indices, chunk: int) -> tuple[Indices | None, Indices]:
    """Return the chunk of each index (None if all are in the first chunk), and its index in the chunk."""
    if indices.size == 0 or int(indices.max()) < chunk:
        return None, indices
    number, within = np.divmod(indices, chunk)
    return number, within


class Product:
    """A piece of places: all combinations of its levels, outermost first.

    Attributes:
        shape: the shape of the piece in the result.
        levels: the levels, in the order in which the file stores the elements of a chunk.
        chunk: the constant part of all chunk numbers.
        place: the constant part of all offsets in a chunk.
    """

    def __init__(self, piece: Resolved, storage: Storage) -> None:
        self.shape = piece.shape
        self.chunk = self.place = 0
        self.levels: list[Level] = []
        if 0 in piece.shape:
            return
        for axes, dimensions in groups_of(piece):
            if axes:
                level = Level(axes, dimensions, piece, storage)
                level.sort()
                self.levels.append(level)
            else:
                self._move(piece, dimensions, storage)
        self._nest(piece, storage)

    @property
    def is_empty(self) -> bool:
        """Whether it has no elements."""
        return 0 in self.shape

    def _move(self, piece: Resolved, dimensions: tuple[int, ...], storage: Storage) -> None:
        for d in dimensions:
            number, within = divmod(int(piece.indices[d].item()), storage.chunk_shape[d])
            self.chunk += number * storage.steps[d]
            self.place += within * storage.strides[d]

    def _nest(self, piece: Resolved, storage: Storage) -> None:
        """Order the levels so that they nest. Two levels that cannot nest are merged into one list."""
        self.levels.sort(key=lambda level: level.gap(), reverse=True)
        inner = len(self.levels) - 1
        below = storage.element_bytes
        while inner >= 0:
            level = self.levels[inner]
            if level.gap() >= below:
                below += level.span()
                inner -= 1
                continue
            other = self.levels.pop(inner + 1)
            axes = tuple(sorted(level.axes + other.axes))
            merged = Level(axes, level.dimensions + other.dimensions, piece, storage)
            merged.sort()
            self.levels[inner] = merged
            self._nest(piece, storage)
            return

    def chunks(self) -> Iterator[tuple[int, tuple[slice, ...]]]:
        """Yield (chunk, slices of the elements of each level) for each chunk with elements."""
        if self.is_empty:
            return
        for segments in itertools.product(*(level.segments() for level in self.levels)):
            yield self.chunk + sum(chunk for chunk, _ in segments), tuple(of for _, of in segments)


class _Group(NamedTuple):
    axes: set[int]
    dimensions: set[int]


def groups_of(piece: Resolved) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return pairs (axes, dimensions) that vary together. The last pair has the dimensions that do not vary."""
    constant = _Group(set(), set())
    groups = [_Group({axis}, set()) for axis, length in enumerate(piece.shape) if length > 1]
    for d, indices in enumerate(piece.indices):
        along = {axis for axis, length in enumerate(indices.shape) if length > 1}
        joined = [group for group in groups if group.axes & along]
        if not joined:
            constant.dimensions.add(d)
            continue
        one = _Group(set().union(*(g.axes for g in joined)), {d}.union(*(g.dimensions for g in joined)))
        groups = [group for group in groups if group not in joined] + [one]
    return [(tuple(sorted(g.axes)), tuple(sorted(g.dimensions))) for g in [*groups, constant]]
