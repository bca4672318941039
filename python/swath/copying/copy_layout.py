"""The order of an array's bytes in a file, as far as the plan of a copy needs it. Pure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence

from swath.formats.description import (
    ChunkedLayout,
    ChunkTable,
    CodedLayout,
    Description,
    LibraryLayout,
    StridedLayout,
    strides_of,
)

Extents = tuple[int, ...]

CHUNK_COPIES = 4
"""The copies of a chunk while a thread moves it: decoded, stored, and between two codecs."""
GATHERED_BYTES = 2 << 20
"""Memory of a thread that makes files: small pieces before their write, and a compressor's buffers."""


@dataclasses.dataclass(frozen=True)
class Side:
    """Source or target of a copy, in the dimensions of the target.

    Attributes:
        shape: in elements.
        itemsize: bytes of an element.
        order: the dimensions from slowest to fastest; with chunks, inside a chunk and from chunk to chunk.
        strides: bytes from one index to the next; None for chunks.
        chunk: elements of a chunk along each dimension; None for no chunks. The plan assumes that chunks follow each
            other in `order`. For a target with shards, the shards: they are replaced as a whole.
        has_table: whether a table has the offset of each chunk.
        whole_chunks: whether chunks are moved as a whole: read, because they are compressed; written, because they are
            files of their own.
        is_compressed: whether bytes are decoded or encoded.
        worker_bytes: memory of one thread that moves chunks; 0 if the engine moves the bytes.
        through_library: whether only the format's own library can read or write the bytes.
    """

    shape: Extents
    itemsize: int
    order: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    chunk: Extents | None = None
    has_table: bool = False
    whole_chunks: bool = False
    is_compressed: bool = False
    worker_bytes: int = 0
    through_library: bool = False

    @staticmethod
    def ordered(shape: Sequence[int], itemsize: int, order: Iterable[int]) -> Side:
        """Return a dense array whose dimensions vary in `order`, slowest first."""
        dimensions = tuple(order)
        return Side(tuple(shape), itemsize, dimensions, strides_of(shape, itemsize, dimensions))

    @staticmethod
    def chunked(shape: Sequence[int], itemsize: int, chunk: Sequence[int]) -> Side:
        """Return a side of chunks in C order with a table of offsets: most chunks follow each other."""
        return dataclasses.replace(Side.tiled(shape, itemsize, chunk), has_table=True)

    @staticmethod
    def tiled(shape: Sequence[int], itemsize: int, chunk: Sequence[int]) -> Side:
        """Return a side of chunks in C order that follow each other."""
        return Side(tuple(shape), itemsize, tuple(range(len(shape))), None, tuple(chunk))

    @staticmethod
    def coded(
        shape: Sequence[int],
        itemsize: int,
        chunk: Sequence[int],
        order: Iterable[int],
        *,
        unit: Sequence[int] | None = None,
        is_compressed: bool,
    ) -> Side:
        """Return a side of chunks, each in a file, which threads move one by one; `unit`: what is moved as a whole."""
        worker = CHUNK_COPIES * math.prod(chunk) * itemsize
        if unit is not None:
            worker += min(GATHERED_BYTES, 2 * math.prod(unit) * itemsize)
        side = dataclasses.replace(Side.tiled(shape, itemsize, unit or chunk), order=tuple(order))
        whole = is_compressed or unit is not None
        return dataclasses.replace(side, whole_chunks=whole, is_compressed=is_compressed, worker_bytes=worker)

    @staticmethod
    def of(description: Description) -> Side:
        """Return the side of an existing array, which is read."""
        shape, itemsize, layout = description.shape, description.dtype.itemsize, description.layout
        ndim = len(shape)
        if isinstance(layout, CodedLayout):
            coded = Side.coded(shape, itemsize, layout.chunk_shape, layout.order, is_compressed=bool(layout.codecs))
            return dataclasses.replace(coded, has_table=isinstance(layout.places, ChunkTable))
        if isinstance(layout, StridedLayout):
            order = sorted(range(ndim), key=lambda d: -layout.strides[d])
            return Side(shape, itemsize, tuple(order), layout.strides)
        chunk = layout.chunk_shape
        side = Side.ordered(shape, itemsize, range(ndim)) if chunk is None else Side.tiled(shape, itemsize, chunk)
        return dataclasses.replace(
            side,
            has_table=isinstance(layout, ChunkedLayout),
            through_library=isinstance(layout, LibraryLayout),
        )

    def permuted(self, axes: Sequence[int]) -> Side:
        """Return the same bytes of the transposed array, whose dimension d is dimension `axes[d]` of this one."""

        def picked(values: tuple[int, ...] | None) -> tuple[int, ...] | None:
            return None if values is None else tuple(values[a] for a in axes)

        place = {axis: d for d, axis in enumerate(axes)}
        return dataclasses.replace(
            self,
            shape=tuple(self.shape[a] for a in axes),
            order=tuple(place[d] for d in self.order),
            strides=picked(self.strides),
            chunk=picked(self.chunk),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.itemsize

    @property
    def stored_bytes(self) -> int:
        """Bytes on the disk: chunks at the edges are stored whole."""
        if self.chunk is None or self.through_library:
            return self.nbytes
        return math.prod(-(-n // c) * c for n, c in zip(self.shape, self.chunk, strict=True)) * self.itemsize

    @property
    def table_entries(self) -> int:
        """Entries of the table of chunks; 0 without a table."""
        if self.chunk is None or not self.has_table:
            return 0
        return math.prod(-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True))

    def run_bytes(self, extents: Extents) -> int:
        """Return the bytes of one contiguous run of a box of these lengths that begins where a run (or a chunk) begins.

        A run continues from one dimension to the next slower one as long as the box has all of the faster ones.
        Shape (6, 8) of 4 bytes in C order: a box of (3, 5) has runs of 20 bytes, one of (3, 8) a single run of 96.
        """
        if self.chunk is None:
            assert self.strides is not None
            return self._run(self.shape, extents, self.strides, self.itemsize)
        inside = tuple(min(e, c) for e, c in zip(extents, self.chunk, strict=True))
        chunk_bytes = math.prod(self.chunk) * self.itemsize
        run = self._run(self.chunk, inside, strides_of(self.chunk, self.itemsize, self.order), self.itemsize)
        if run < chunk_bytes:
            return run
        grid = [-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True)]
        taken = tuple(-(-e // c) for e, c in zip(extents, self.chunk, strict=True))
        return self._run(grid, taken, strides_of(grid, chunk_bytes, self.order), chunk_bytes)

    def _run(self, shape: Sequence[int], extents: Extents, strides: Sequence[int], run: int) -> int:
        for d in reversed(self.order):
            if shape[d] <= 1:
                continue
            if strides[d] != run:
                break
            run *= extents[d]
        return run

    def rounded(self, extents: Extents) -> Extents:
        """Return lengths rounded up to whole chunks, if there are chunks, within the shape."""
        if self.chunk is None:
            return extents
        return tuple(min(n, -(-e // c) * c) for e, c, n in zip(extents, self.chunk, self.shape, strict=True))

    def box_of(self, elements: int) -> Extents:
        """Return the lengths of a box of about `elements` elements that has the longest runs."""
        if self.chunk is None:
            return self._grown(elements, (1,) * len(self.shape))
        chunk = tuple(min(c, n) for c, n in zip(self.chunk, self.shape, strict=True))
        whole = math.prod(chunk)
        if elements >= whole:
            return self._grown(max(elements // max(whole, 1), 1), chunk)
        inside = dataclasses.replace(self, shape=chunk, chunk=None)
        return inside._grown(elements, (1,) * len(chunk))

    def _grown(self, count: int, unit: Extents) -> Extents:
        """Return `count` units, placed side by side along the fastest dimension, then along the next one."""
        extents = list(unit)
        for d in reversed(self.order):
            units = -(-self.shape[d] // max(unit[d], 1))
            taken = min(count, units)
            extents[d] = min(unit[d] * taken, self.shape[d])
            count //= max(taken, 1)
            if count <= 1:
                break
        return tuple(extents)


def same_order(a: Side, b: Side, extents: Extents) -> bool:
    """Return whether elements of a box of these lengths are in the same order on both sides."""
    long = [d for d, extent in enumerate(extents) if extent > 1]
    return [d for d in a.order if d in long] == [d for d in b.order if d in long]


def pieces(shape: Extents, extents: Extents) -> Iterator[tuple[int, Extents]]:
    """Yield (number, lengths) of the boxes that a shape is cut into: whole boxes, and smaller ones at the ends.

    Shape (5, 4) by (2, 4): two of (2, 4), one of (1, 4).
    """
    kinds: list[tuple[int, Extents]] = [(1, ())]
    for n, e in zip(shape, extents, strict=True):
        whole, rest = divmod(n, e) if e else (0, 0)
        cuts = [cut for cut in ((whole, e), (1, rest)) if cut[0] and cut[1]]
        kinds = [(count * times, (*done, extent)) for count, done in kinds for times, extent in cuts]
    return iter(kinds)
