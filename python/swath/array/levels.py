"""Places of an array as products of levels: which index arrays vary together, and where their elements are stored.

A level is a list of elements along some axes of the result. Levels whose lists combine freely are a product; it takes
the memory of its lists. In a file a product is a nest, where each level's gaps hold all that is under it.
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
    """Where elements are: in which chunk, and where in it. Without chunks all are in one.

    Attributes:
        chunk_shape: in elements; the array's where there are no chunks.
        strides: in bytes, inside a chunk. Of coded chunks zeros.
        is_chunked: whether there are chunks.
        steps: from a chunk to the next along each dimension, in numbers of chunks.
        element_bytes: of one element.
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
        """Return where these chunks begin in the file, -1 where they do not."""
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
    """Elements of a level that are there several times.

    Attributes:
        again: flat positions along the level's axes.
        first: where the same element is that is read, one a position of `again`.
    """

    again: Indices
    first: Indices


class Level:
    """A list of elements along some axes, in the order of chunks and, inside a chunk, of the file.

    Attributes:
        axes: of the result, ascending.
        lengths: along them.
        dimensions: of the array, whose indices vary along the axes.
        chunks: the number of the chunk, less those of other levels; None where there is one chunk only.
        places: bytes from the chunk's begin, less those of other levels.
        positions: flat along the axes; None: one behind the other.
        repeats: those that are left out, being there already; None: no such.
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
        """Bring them into the order of the file, each once: of those that are there again the last is kept."""
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
        """Return (chunk, its elements) of each chunk."""
        count = len(self.places)
        if self.chunks is None:
            return [(0, slice(0, count))]
        begins = np.flatnonzero(np.append(True, np.diff(self.chunks) != 0))
        ends = [*begins[1:].tolist(), count]
        return [(int(self.chunks[b]), slice(b, e)) for b, e in zip(begins.tolist(), ends, strict=True)]

    def gap(self) -> int:
        """Return the least distance of two elements of a chunk."""
        step = np.diff(self.places)
        if self.chunks is not None:
            step = step[np.diff(self.chunks) == 0]
        return int(step.min()) if step.size else NO_GAP

    def span(self) -> int:
        """Return the largest distance of two elements of a chunk."""
        return max((int(self.places[s.stop - 1] - self.places[s.start]) for _, s in self.segments()), default=0)

    def forget_places(self) -> None:
        """Of a level in order that is stored already: only its positions are needed."""
        self.places = np.zeros(0, np.int64)
        self.chunks = None

    def flat_positions(self) -> Indices:
        """Return the positions along the axes."""
        return np.arange(math.prod(self.lengths), dtype=np.int64) if self.positions is None else self.positions

    def along(self, steps: tuple[int, ...], positions: Indices) -> Indices:
        """Return how far positions are from the first, where it is so far from one to the next along each axis."""
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
    """Return the chunk of each, None where all are in the first, and where in it they are."""
    if indices.size == 0 or int(indices.max()) < chunk:
        return None, indices
    number, within = np.divmod(indices, chunk)
    return number, within


class Product:
    """A piece of places: all combinations of its levels, outermost first.

    Attributes:
        shape: of the piece in the result.
        levels: in whose order the elements of a chunk are in the file.
        chunk: what all have in common of the number of their chunk.
        place: and of their place in it.
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
        """Order the levels so that they nest; two that cannot be are one list."""
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
        """Yield (chunk, the elements of each level) of each chunk that has elements."""
        if self.is_empty:
            return
        for segments in itertools.product(*(level.segments() for level in self.levels)):
            yield self.chunk + sum(chunk for chunk, _ in segments), tuple(of for _, of in segments)


class _Group(NamedTuple):
    axes: set[int]
    dimensions: set[int]


def groups_of(piece: Resolved) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return (axes, dimensions) that vary together; one without axes for the dimensions that do not vary."""
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
