"""The file between two passes: tiles that follow each other; tiles at the edge are cut off with the array. Pure.

An array of (10, 7) in tiles of (4, 4) has four kinds of tiles by shape. Each kind is a region of the array that
consists of whole tiles, and is contiguous in the file:

    (4, 4)  rows 0 to 8, columns 0 to 4         (4, 3)  rows 0 to 8, columns 4 to 7
    (2, 4)  rows 8 to 10, columns 0 to 4        (2, 3)  rows 8 to 10, columns 4 to 7

So a tile is contiguous in the file for all lengths, and the file has no padding.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.copy_layout import Side
from swath.fft.transform import Extents

Box = tuple[slice, ...]
Numbers = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Region:
    """Tiles of one shape.

    Attributes:
        begin: its first element in the array.
        shape: of the region, which consists of whole tiles.
        tile: lengths of each tile.
        offset: the byte of the file at which its first tile begins.
    """

    begin: Extents
    shape: Extents
    tile: Extents
    offset: int

    def part_of(self, box: Box) -> tuple[Box, Box] | None:
        """Return the region's part of a box: in the region, and in the box; None if it is empty."""
        inside, outside = [], []
        for part, begin, n in zip(box, self.begin, self.shape, strict=True):
            first, end = max(part.start, begin), min(part.stop, begin + n)
            if first >= end:
                return None
            inside.append(slice(first - begin, end - begin))
            outside.append(slice(first - part.start, end - part.start))
        return tuple(inside), tuple(outside)


@dataclasses.dataclass(frozen=True)
class Tiles(Side):
    """An array in tiles; `chunk` is a tile that is not at the edge.

    `order` is that of the elements of a tile, and of the tiles of a region: the dimensions from slowest to fastest.
    """

    @staticmethod
    def of_array(shape: Sequence[int], itemsize: int, tile: Sequence[int], order: Sequence[int]) -> Tiles:
        """Return an array in tiles of these lengths."""
        return Tiles(tuple(shape), itemsize, tuple(order), None, tuple(tile))

    @property
    def tile(self) -> Extents:
        """Lengths of a tile that is not at the edge."""
        assert self.chunk is not None
        return self.chunk

    @property
    def stored_bytes(self) -> int:
        """Bytes on the disk."""
        return self.nbytes

    @functools.cached_property
    def regions(self) -> tuple[Region, ...]:
        """The tiles by their shapes, in the order of the file."""
        cuts = []
        for n, t in zip(self.shape, self.tile, strict=True):
            whole = n // t * t
            cuts.append([cut for cut in ((0, whole, t), (whole, n - whole, n - whole)) if cut[1]])
        found, offset = [], 0
        for parts in itertools.product(*cuts):
            begin, shape, tile = (tuple(part[i] for part in parts) for i in range(3))
            found.append(Region(begin, shape, tile, offset))
            offset += math.prod(shape) * self.itemsize
        return tuple(found)

    def requests(self, extents: Extents) -> int:
        """Return the contiguous runs of the array that is moved in boxes of these lengths."""
        if 0 in self.shape:
            return 0
        return max(int(runs(np.array(extents), np.array(self.tile), self)), 1)


def runs(extents: Numbers, tile: Numbers, side: Side) -> Numbers:
    """Return the contiguous runs of an array in tiles that is moved in boxes, from the lengths of both.

    A box consists of whole tiles along a dimension, or is inside of one. A run continues from one dimension to the next
    slower one, and from one tile to the next, as long as the box has all of the faster ones. Boxes at the edge count
    like whole ones. The last dimension of both arguments is that of the array; the other dimensions allow many boxes
    and tiles.
    """
    shape = np.array(side.shape, np.int64)
    inside, whole = np.minimum(extents, tile), np.minimum(tile, shape)
    grid = -(-shape // tile)
    taken = np.minimum(-(-extents // tile), grid)
    run: Any = 1.0
    goes_on: Any = True
    for of_box, of_all in ((inside, whole), (taken, grid)):
        for d in reversed(side.order):
            run = run * np.where(goes_on, of_box[..., d], 1)
            goes_on = goes_on & (of_box[..., d] >= of_all[..., d])
    found: Numbers = np.ceil(float(math.prod(side.shape)) / run)
    return found
