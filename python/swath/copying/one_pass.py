"""One pass of a copy from file to file, tile by tile: the tiles, their order, and the memory."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

from swath.copying import price
from swath.copying.copy_layout import Extents, Side, pieces, same_order
from swath.copying.costs import Costs

MIB = 1 << 20
METHOD_BYTES = 600 << 10
"""Memory for reading or writing one tile (docs/methods.md): a bounce buffer or a batch."""
WORKERS = 8
"""The most threads that move chunks; each has its own memory."""
PLACED_BYTES = 16 * MIB
"""The most bytes of encoded chunks that the format's library allocates at a time: it opens the file once for them,
which takes about as long as encoding a hundredth of these bytes."""
LIBRARY_BYTES = 64 * MIB
"""A slab that a format's library reads at once (library_access.py); for a moment there are two copies of it."""
CHUNK_BYTES = 120
"""Memory of the table of chunks for each chunk, while the table is made and afterwards."""
TILES_READ_AHEAD = 2
SLABS_WRITTEN_BEHIND = 2
TILES_IN_PLACE = 3
"""The buffers of tiles that are written from the memory of the read: one is read, one waits, one is written."""
AHEAD_RUN_BYTES, AHEAD_RUN_BYTES_MIN = 512 << 10, 32 << 10
"""Devices read runs of about the first length well; below the second, nothing is prefetched: each run costs a call."""
GROUPS_MIN = 4
"""While the first group of bands is read, nothing is written."""


@dataclasses.dataclass(frozen=True)
class Pass:
    """One way from file to file, tile by tile.

    Attributes:
        source, target: the two sides.
        tile: lengths of a tile.
        slab: lengths of the part of a tile that is shuffled into the target's order, and written, at once.
        converts: whether elements get another dtype, from one buffer into another (a change of the byte order alone
            happens in place).
        costs: the costs that give the price.
    """

    source: Side
    target: Side
    tile: Extents
    slab: Extents
    converts: bool
    costs: Costs

    @property
    def grid(self) -> Extents:
        """Tiles along each dimension."""
        return tuple(-(-n // e) if e else 0 for n, e in zip(self.target.shape, self.tile, strict=True))

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return math.prod(self.grid)

    @property
    def shuffles(self) -> bool:
        """Whether elements of a tile change their order in memory."""
        return not same_order(self.source, self.target, self.tile)

    @property
    def in_place(self) -> bool:
        """Whether a tile is written from the memory of the read."""
        return not (self.shuffles or self.converts)

    def box(self, index: int) -> tuple[slice, ...]:
        """Return the tile with that number; tiles are in the order of the target."""
        places = [0] * len(self.tile)
        for d in reversed(self.target.order):
            index, places[d] = divmod(index, self.grid[d])
        return tuple(
            slice(p * e, min((p + 1) * e, n)) for p, e, n in zip(places, self.tile, self.target.shape, strict=True)
        )

    def slabs(self, extents: Extents) -> Iterator[tuple[slice, ...]]:
        """Yield the parts of a tile of these lengths, in the order of the target."""
        if self.in_place:
            yield tuple(slice(0, e) for e in extents)
            return
        grid = [range(0, e, s) for e, s in zip(extents, self.slab, strict=True)]
        for number in range(math.prod(len(g) for g in grid)):
            begins = [0] * len(grid)
            for d in reversed(self.target.order):
                number, place = divmod(number, len(grid[d]))  # noqa: PLW2901
                begins[d] = grid[d][place]
            yield tuple(slice(b, min(b + s, e)) for b, s, e in zip(begins, self.slab, extents, strict=True))

    @property
    def band_tiles(self) -> int:
        """The number of tiles after which the written bytes are contiguous, including chunks."""
        chunk = self.target.chunk or (1,) * len(self.tile)
        for place, d in enumerate(self.target.order):
            if max(self.tile[d], chunk[d]) > 1 and self.target.shape[d] > 1:
                faster = math.prod(self.grid[f] for f in self.target.order[place + 1 :])
                return min(-(-chunk[d] // self.tile[d]), self.grid[d]) * faster
        return 1

    def span_of_band(self, side: Side, band: int) -> tuple[int, int] | None:
        """Return the bytes of a band, [begin, end), from the first byte of that side; None if they are not contiguous.

        Shape (100, 200) of 8 bytes, tiles of (10, 200): for a target in C order, band 2 is [32000, 48000); for a source
        in F order it is 200 pieces of 10 numbers each, so the result is None.
        """
        if side.strides is None:
            return None
        first = self.box(band * self.band_tiles)
        last = self.box(min((band + 1) * self.band_tiles, self.tiles) - 1)
        begin = sum(part.start * stride for part, stride in zip(first, side.strides, strict=True))
        end = sum((part.stop - 1) * stride for part, stride in zip(last, side.strides, strict=True)) + side.itemsize
        elements = self.band_bytes // max(self.target.itemsize, 1)
        return (begin, end) if end - begin <= elements * side.itemsize else None

    @property
    def band_bytes(self) -> int:
        """Bytes of a band."""
        return min(self.band_tiles * math.prod(self.tile) * self.target.itemsize, self.target.nbytes)

    @property
    def is_merged(self) -> bool:
        """Whether the page cache combines short writes to long ones."""
        return self.band_bytes <= self.costs.merge_bytes

    @functools.cached_property
    def bands_at_once(self) -> int:
        """The number of bands whose source runs are prefetched together (`swath.copying.ahead`); 1 if that is no use.

        It is of use if the runs follow each other in the file and are short, and if the page cache has room for twice
        the group.
        """
        source, d = self.source, self._band_dimension
        if d is None or self.tiles == 0 or source.strides is None:
            return 1
        if source.order[-1] != d or source.strides[d] != source.itemsize:
            return 1
        run_bytes = source.run_bytes(self.tile)
        room = self.costs.ahead_bytes // max(2 * self.band_bytes * source.itemsize // self.target.itemsize, 1)
        bands = min(AHEAD_RUN_BYTES // max(run_bytes, 1), room, self._bands_of_cycle // GROUPS_MIN)
        return bands if bands > 1 and bands * run_bytes >= AHEAD_RUN_BYTES_MIN else 1

    def tiles_of_group(self, index: int) -> range:
        """Return the tiles of the bands that are prefetched together with the band of tile `index`."""
        cycle = self._bands_of_cycle
        band = index // self.band_tiles
        first = band - band % cycle % self.bands_at_once
        end = min(first + self.bands_at_once, band - band % cycle + cycle)
        return range(first * self.band_tiles, min(end * self.band_tiles, self.tiles))

    def box_of_group(self, group: range, place: int) -> tuple[slice, ...]:
        """Return tile `place` of the first band of a group, together with the tiles beside it in the other bands."""
        box = list(self.box(group.start + place))
        d = self._band_dimension
        if d is not None:
            box[d] = slice(box[d].start, self.box(group.stop - 1)[d].stop)
        return tuple(box)

    @property
    def _band_dimension(self) -> int | None:
        """The dimension along which the bands follow each other."""
        chunk = self.target.chunk or (1,) * len(self.tile)
        for d in self.target.order:
            if max(self.tile[d], chunk[d]) > 1 and self.target.shape[d] > 1:
                return d
        return None

    @property
    def _bands_of_cycle(self) -> int:
        """The number of bands after which they begin again at index 0 of that dimension."""
        d = self._band_dimension
        if d is None:
            return 1
        chunk = 1 if self.target.chunk is None else self.target.chunk[d]
        return -(-self.grid[d] // min(-(-chunk // self.tile[d]), self.grid[d]))

    @functools.cached_property
    def read_requests(self) -> int:
        """The number of contiguous runs of the source, tile by tile."""
        return _requests(self.source, self.tile)

    @functools.cached_property
    def write_requests(self) -> int:
        """The number of contiguous runs of the target, slab by slab."""
        if self.in_place:
            return _requests(self.target, self.tile)
        return sum(
            count * times * -(-math.prod(slab) * self.target.itemsize // self.target.run_bytes(slab))
            for count, tile in pieces(self.target.shape, self.tile)
            for times, slab in pieces(tile, self.slab)
        )

    @property
    def tile_bytes(self) -> int:
        """Bytes of a tile in the source's dtype."""
        return math.prod(self.tile) * self.source.itemsize

    @property
    def slab_elements(self) -> int:
        """Elements of a slab."""
        return math.prod(self.slab)

    @property
    def memory_bytes(self) -> int:
        """Bytes of all buffers together, and of the memory for reading and writing."""
        if self.in_place:
            buffers = TILES_IN_PLACE * self.tile_bytes
        else:
            buffers = (
                TILES_READ_AHEAD * self.tile_bytes + SLABS_WRITTEN_BEHIND * self.slab_elements * self.target.itemsize
            )
            if self.shuffles and self.converts:
                buffers += self.slab_elements * self.source.itemsize
        for side in (self.source, self.target):
            buffers += self._moving_bytes(side) + side.table_entries * CHUNK_BYTES
        return buffers

    def _moving_bytes(self, side: Side) -> int:
        """Return the memory for reading or writing a tile, besides the tile."""
        if side.worker_bytes:
            return self.chunk_buffer_bytes(side)
        slab = 2 * min(LIBRARY_BYTES, self.tile_bytes) if side.through_library else METHOD_BYTES
        return min(slab, self.tile_bytes)

    def chunk_buffer_bytes(self, side: Side) -> int:
        """Return the buffer bytes of all threads that move a side's chunks: at least one chunk, within half a tile."""
        wanted = WORKERS * side.worker_bytes
        if self.is_placed and side == self.target:
            wanted = max(wanted, PLACED_BYTES)
        return max(side.worker_bytes, min(wanted, self.tile_bytes // 2))

    @property
    def is_placed(self) -> bool:
        """Whether the format's library allocates the chunks of the target when they are encoded."""
        return self.target.has_table and self.target.is_compressed

    @property
    def placings(self) -> int:
        """The number of times that the format's library allocates chunks; 0 if it does not."""
        if not self.is_placed:
            return 0
        return self.tiles * -(-self.tile_bytes // max(self.chunk_buffer_bytes(self.target), 1))

    @functools.cached_property
    def seconds(self) -> dict[str, float]:
        """Predicted seconds of each stage and in all: see `price.seconds_of`."""
        return price.seconds_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "tile": list(self.tile),
            "slab": list(self.slab),
            "tiles": self.tiles,
            "band_bytes": self.band_bytes,
            "is_merged": self.is_merged,
            "read_requests": self.read_requests,
            "write_requests": self.write_requests,
            "read_bytes": self.source.nbytes,
            "written_bytes": self.target.nbytes,
            "memory_bytes": self.memory_bytes,
            "seconds": self.seconds,
        }


def _requests(side: Side, tile: Extents) -> int:
    return sum(
        count * -(-math.prod(extents) * side.itemsize // side.run_bytes(extents))
        for count, extents in pieces(side.shape, tile)
    )
