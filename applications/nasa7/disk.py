"""Arrays on disk, which kernels use panel by panel: by Swath as found or optimised, or by numpy.memmap."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import swath

FOUND, OPTIMISED, MEMMAP = VARIANTS = ("found", "optimised", "memmap")


class Disk:
    """A folder of arrays, with the time and bytes of their reads and writes.

    "found": every file has C order; panels are read when they are needed. "optimised": each file has the order in which
    its panels are contiguous; a panel is read while the kernel computes with the previous one, and written while it
    computes the next one. "memmap": the files of "found", by numpy.memmap.
    """

    def __init__(self, folder: Path, variant: str, panel: int) -> None:
        self.folder = folder
        self.variant = variant
        self.panel = panel
        self.seconds = 0.0
        self.bytes = 0
        self._open: list[DiskArray] = []
        self._writing = contextlib.ExitStack()

    def new(self, name: str, shape: Sequence[int], cut: int, dtype: str = "f8") -> DiskArray:
        """Return a new array of zeros; `cut` is the dimension that most of its panels divide."""
        path = self.folder / f"{name}.raw"
        if self.variant == MEMMAP:
            stored: Any = np.memmap(path, dtype, "w+", shape=tuple(shape))
        else:
            axes = [cut, *(axis for axis in range(len(shape)) if axis != cut)]
            order: Any = tuple(axes) if self.variant == OPTIMISED else "C"
            swath.create(path, tuple(shape), dtype, order=order, overwrite=True, atomic=False).close()
            stored = swath.open(path, shape=tuple(shape), dtype=dtype, order=order, mode="r+")
        writer = self._writing.enter_context(stored.writer()) if self.variant == OPTIMISED else None
        made = DiskArray(self, stored, writer)
        self._open.append(made)
        return made

    def put(self, name: str, values: np.ndarray, cut: int) -> DiskArray:
        """Return a new array with these values, the input of a kernel. This is not timed."""
        made = self.new(name, values.shape, cut, values.dtype.str[1:])
        made.stored[...] = values
        return made

    def cuts(self, extent: int) -> Iterator[slice]:
        """Return the ranges of panels along a dimension."""
        return (slice(first, min(first + self.panel, extent)) for first in range(0, extent, self.panel))

    def flush(self) -> None:
        """Wait until all panels are written."""
        began = time.perf_counter()
        for one in self._open:
            if one.writer is not None:
                one.writer.flush()
        self.seconds += time.perf_counter() - began

    def close(self) -> None:
        """Complete all arrays."""
        self._writing.close()
        for one in self._open:
            if self.variant != MEMMAP:
                one.stored.close()
        self._open.clear()


class DiskArray:
    """An array on disk, read and written by boxes."""

    def __init__(self, disk: Disk, stored: Any, writer: Any) -> None:
        self.disk = disk
        self.stored = stored
        self.shape: tuple[int, ...] = stored.shape
        self.writer = writer

    def __getitem__(self, box: Any) -> np.ndarray:
        """Read a box."""
        began = time.perf_counter()
        values = np.array(self.stored[box]) if self.disk.variant == MEMMAP else self.stored[box]
        self._count(values.nbytes, began)
        return values

    def __setitem__(self, box: Any, values: np.ndarray) -> None:
        """Write a box."""
        began = time.perf_counter()
        if self.writer is None:
            self.stored[box] = values
        else:
            self.writer.write(values, selection=box)
        self._count(values.nbytes, began)

    def panels(self, axis: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Return the panels along a dimension with their ranges; the optimised variant reads them ahead."""
        extent = self.shape[axis]
        if self.disk.variant != OPTIMISED:
            yield from ((cut, self[self.box(axis, cut)]) for cut in self.disk.cuts(extent))
            return
        block = [self.disk.panel if d == axis else None for d in range(len(self.shape))]
        began = time.perf_counter()
        for selection, values in self.stored.blocks(tuple(block), prefetch="auto"):
            self._count(values.nbytes, began)
            yield selection[axis], values
            began = time.perf_counter()

    def box(self, axis: int, cut: slice) -> tuple[slice, ...]:
        """Return the box of a panel."""
        return tuple(cut if d == axis else slice(None) for d in range(len(self.shape)))

    def _count(self, size: int, began: float) -> None:
        self.disk.seconds += time.perf_counter() - began
        self.disk.bytes += size
