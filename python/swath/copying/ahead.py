"""Prefetch the source of several bands, so that the device reads long runs even if a tile's runs are short.

A tile of a transpose has runs of some ten KiB in the source. In the file, the run of the next tile follows, which
belongs to the next band. The runs of `Pass.bands_at_once` bands, a *group*, are prefetched together
(POSIX_FADV_WILLNEED), and wait in the page cache until their tiles are read. A group is prefetched in parts while the
tiles of the group before it are read, so that the device always has something to read and something to write.

Example: groups of 2 bands of 4 tiles. When tile 0 of group 1 is read, the first half of the rows of tile 0 is
prefetched for both bands of group 2; with tile 1 the second half, with tile 2 the first half of the rows of tile 1, ...
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
    """Prefetches the source of one pass, in the order in which one worker reads its tiles.

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
        """Close the file, before other code changes it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def before(self, index: int) -> None:
        """Prefetch what is due before tile `index` is read."""
        if self._descriptor < 0:
            return
        plan = self._plan
        group = plan.tiles_of_group(index)
        place = index - group.start
        if group.start == 0 and place < plan.band_tiles:
            self._ask(group, place)  # nothing was prefetched for the first group
        if group.stop < plan.tiles:
            of_tile = len(group) // plan.band_tiles
            self._ask(plan.tiles_of_group(group.stop), place // of_tile, place % of_tile, of_tile)

    def _ask(self, group: range, place: int, part: int = 0, parts: int = 1) -> None:
        """Prefetch the runs of a tile in all bands of a group, or one of `parts` parts of them."""
        runs = list(runs_of(self._plan.source, self._plan.box_of_group(group, place)))
        with contextlib.suppress(OSError):  # it was only a hint
            for begin, length in runs[len(runs) * part // parts : len(runs) * (part + 1) // parts]:
                os.posix_fadvise(self._descriptor, self._first + begin, length, os.POSIX_FADV_WILLNEED)


def runs_of(side: Side, box: Box) -> Iterator[tuple[int, int]]:
    """Yield (begin, length) in bytes of each contiguous run of a box, in the file's order; only for strided sides."""
    assert side.strides is not None
    *outer, fastest = side.order
    length = (box[fastest].stop - box[fastest].start) * side.itemsize
    begins = np.array([box[fastest].start * side.strides[fastest]])
    for d in reversed(outer):
        begins = np.add.outer(np.arange(box[d].start, box[d].stop) * side.strides[d], begins).ravel()
    for begin in begins.tolist():
        yield begin, length
