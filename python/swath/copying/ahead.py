"""Asking the kernel for what several bands will want, so that the device reads long runs however short a tile's are.

A tile of a transpose has runs of some ten KiB in the source; behind each, in the same file, lies the run of the tile
beside it, which belongs to the next band. The runs of `Pass.bands_at_once` bands are asked for together
(POSIX_FADV_WILLNEED), a *group*, and wait in the page cache until their tiles are read. A group is asked for little by
little while the tiles of the one before are read, so that the device always has some to read and some to write.

Groups of 2 bands of 4 tiles: when tile 0 of group 1 is read, the first half of the rows of tile 0 is asked for of both
bands of group 2, with tile 1 the second half, with tile 2 the first half of the rows of tile 1, ...
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import numpy as np

from swath.base import stored_path
from swath.copying.copy_layout import Side
from swath.copying.one_pass import Pass
from swath.formats import Description, StridedLayout

Box = tuple[slice, ...]


class ReadAhead:
    """For the source of one pass; asks in the order in which one worker reads its tiles.

    Args:
        plan: the pass.
        description: of the source's file.
    """

    def __init__(self, plan: Pass, description: Description) -> None:
        layout = description.layout
        self._plan = plan
        self._first = layout.offset if isinstance(layout, StridedLayout) else 0
        self._descriptor = -1
        if plan.bands_at_once > 1 and stored_path.of(description.path).is_local:
            self._descriptor = os.open(description.path, os.O_RDONLY)

    def close(self) -> None:
        """Close the file, before it is changed by others."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def before(self, index: int) -> None:
        """Ask for what is due before tile `index` is read."""
        if self._descriptor < 0:
            return
        plan = self._plan
        group = plan.tiles_of_group(index)
        place = index - group.start
        if group.start == 0 and place < plan.band_tiles:
            self._ask(group, place)  # nothing was read before it
        if group.stop < plan.tiles:
            of_tile = len(group) // plan.band_tiles
            self._ask(plan.tiles_of_group(group.stop), place // of_tile, place % of_tile, of_tile)

    def _ask(self, group: range, place: int, part: int = 0, parts: int = 1) -> None:
        """Ask for the runs of that place in all bands of a group, or for one part of so many of them."""
        runs = list(runs_of(self._plan.source, self._plan.box_of_group(group, place)))
        with contextlib.suppress(OSError):  # it was a hint
            for begin, length in runs[len(runs) * part // parts : len(runs) * (part + 1) // parts]:
                os.posix_fadvise(self._descriptor, self._first + begin, length, os.POSIX_FADV_WILLNEED)


def runs_of(side: Side, box: Box) -> Iterator[tuple[int, int]]:
    """(begin, length) in bytes of each contiguous run of a box, in the file's order; of strided sides."""
    assert side.strides is not None
    *outer, fastest = side.order
    length = (box[fastest].stop - box[fastest].start) * side.itemsize
    begins = np.array([box[fastest].start * side.strides[fastest]])
    for d in reversed(outer):
        begins = np.add.outer(np.arange(box[d].start, box[d].stop) * side.strides[d], begins).ravel()
    for begin in begins.tolist():
        yield begin, length
