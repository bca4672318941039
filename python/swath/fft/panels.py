"""Executes one pass: one thread reads ahead, the caller's thread transforms, one thread writes behind."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

import numpy as np

from swath import _core
from swath.array.open_array import Array
from swath.base.adaptive import PREFETCH, WRITE_BEHIND
from swath.copying.copy_layout import Side
from swath.copying.pipeline import PIECE_BYTES_MIN, Progress, tuning_of
from swath.fft.passes import PanelPass
from swath.fft.tiles import Box, Tiles
from swath.fft.transforming import Buffer, Buffers, Elements, panel_to_read, transformed


@dataclasses.dataclass
class PassTimes:
    """Seconds of one pass on this rank.

    Attributes:
        seconds: of the whole pass.
        read_seconds, write_seconds: of reading and writing, mostly during the transform.
        transform_seconds: of scipy.fft.
        waited_seconds: of waits for reads and writes, with nothing to transform.
    """

    seconds: float = 0.0
    read_seconds: float = 0.0
    write_seconds: float = 0.0
    transform_seconds: float = 0.0
    waited_seconds: float = 0.0


class Opened:
    """Source or target of a pass, which only this process has open, in the dimensions of the planning.

    Args:
        arrays: the array; for tiles, one array for each region.
        side: the planned side.
        dimensions: dimension d of the planning is dimension `dimensions[d]` of the array.
        chunk_buffer_bytes: of threads that code chunks.
    """

    def __init__(self, arrays: Sequence[Array], side: Side, dimensions: Sequence[int], chunk_buffer_bytes: int) -> None:
        self._arrays = arrays
        self._side = side
        self._inverse = tuple(int(d) for d in np.argsort(dimensions)) if dimensions else ()
        self._tuning = tuning_of(side, chunk_buffer_bytes)

    def trace_adaptive(self, means: str) -> None:
        """Note in the trace that the arrays are read ahead, or written behind."""
        for array in self._arrays:
            array._stored.trace_adaptive(means)

    def read(self, box: Box, out: Elements) -> None:
        """Read a box into memory of its shape, in the machine's byte order."""
        for array, inside, part in self._parts(box):
            memory = out[part]
            turned = memory.transpose(self._inverse)
            method = _method(self._side, memory)
            array.read(selection=self._turned(inside), out=turned, method=method, tuning=self._tuning)

    def write(self, box: Box, values: Elements) -> None:
        """Write a box. Afterwards the values may be in the other byte order."""
        dtype = self._arrays[0].dtype
        if values.dtype != dtype:
            values = values.byteswap(inplace=True).view(dtype)
        for array, inside, part in self._parts(box):
            memory = values[part]
            turned = memory.transpose(self._inverse)
            method = _method(self._side, memory)
            array.write(turned, selection=self._turned(inside), method=method, tuning=self._tuning)

    def sync(self) -> None:
        """Wait until the written bytes are on the medium."""
        self._arrays[0].sync()

    def _parts(self, box: Box) -> Iterator[tuple[Array, Box, Any]]:
        """Yield arrays and their part of a box: in the array, and in the box."""
        if not isinstance(self._side, Tiles):
            yield self._arrays[0], box, ...
            return
        for array, region in zip(self._arrays, self._side.regions, strict=True):
            found = region.part_of(box)
            if found is not None:
                yield array, *found

    def _turned(self, box: Box) -> Box:
        return tuple(box[d] for d in self._inverse)


def _method(side: Side, memory: Elements) -> str:
    """Return how to move a box: as a `list` of pieces of memory, or `direct` through a buffer for very short pieces."""
    if side.through_library or side.worker_bytes:
        return "list"
    long = [d for d in side.order if memory.shape[d] > 1]
    if not long:
        return "list"
    row = long[-1]
    piece = memory.shape[row] if side.chunk is None else min(memory.shape[row], side.chunk[row])
    is_whole = memory.strides[row] == memory.itemsize and piece * memory.itemsize >= PIECE_BYTES_MIN
    return "list" if is_whole else "direct"


@dataclasses.dataclass
class _Panel:
    """A panel in progress: its number, its elements, and their buffers."""

    index: int
    values: Elements
    read: Buffer | None
    written: Buffer | None = None


class Panels:
    """The threads and buffers of one pass. Use it in a `with` block.

    Args:
        plan: the pass.
        source, target: of the pass.
        progress: counts the bytes that were written.
    """

    def __init__(self, plan: PanelPass, source: Opened, target: Opened, progress: Progress) -> None:
        self._plan = plan
        self._source = source
        self._target = target
        self._progress = progress
        self._stop = _core.Stop()
        self.times = PassTimes()
        at_once = plan.buffers(overlaps=plan.overlaps and plan.panels > 1)
        self._to_read = Buffers(at_once.read, plan.read_bytes)
        self._to_write = Buffers(at_once.written, plan.written_bytes)
        self._work = Buffers(at_once.work, plan.work_bytes)
        self._threads = [
            ThreadPoolExecutor(1, f"swath-fft-{name}", _core.obey, (self._stop,)) for name in ("read", "write")
        ]

    def __enter__(self) -> Panels:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stop.set()  # the threads stop after their current step
        for thread in self._threads:
            thread.shutdown(wait=True, cancel_futures=True)

    def carry_out(self, indices: Sequence[int]) -> None:
        """Read, transform and write these panels; when this returns they are written, at least to the page cache."""
        begin = time.perf_counter()
        if self._plan.overlaps:
            self._overlapped(indices)
        else:
            for index in indices:
                panel = self._transformed(self._read(index, self._to_read.take()))
                self._write(panel)
                self._give(panel)
        self.times.seconds += time.perf_counter() - begin

    def _overlapped(self, indices: Sequence[int]) -> None:
        reader, writer = self._threads
        self._source.trace_adaptive(PREFETCH)
        self._target.trace_adaptive(WRITE_BEHIND)
        ahead: Future[_Panel] | None = None
        if indices:
            ahead = reader.submit(self._read, indices[0], self._to_read.take())
        behind: Future[_Panel] | None = None
        for place in range(len(indices)):
            assert ahead is not None
            panel = self._waited(ahead)
            ahead = None
            if place + 1 < len(indices):
                ahead = reader.submit(self._read, indices[place + 1], self._to_read.take())
            panel = self._transformed(panel)
            if behind is not None:
                self._give(self._waited(behind))
            behind = writer.submit(self._write, panel)
        if behind is not None:
            self._give(self._waited(behind))

    def _give(self, panel: _Panel) -> None:
        """Take back the buffers of a written panel."""
        self._to_read.give(panel.read)
        self._to_write.give(panel.written)

    def _waited(self, future: Future[_Panel]) -> _Panel:
        begin = time.perf_counter()
        try:
            return future.result()
        finally:
            self.times.waited_seconds += time.perf_counter() - begin

    def _read(self, index: int, buffer: Buffer) -> _Panel:
        begin = time.perf_counter()
        box = self._plan.box_read(index)
        values, part = panel_to_read(self._plan, buffer, tuple(one.stop - one.start for one in box))
        self._source.read(box, part)
        self.times.read_seconds += time.perf_counter() - begin
        return _Panel(index, values, buffer)

    def _transformed(self, panel: _Panel) -> _Panel:
        begin = time.perf_counter()
        plan = self._plan
        if plan.is_in_place:
            panel.values = transformed(plan, panel.values, None, None)
        else:
            work = self._work.take() if plan.works_between else None
            panel.written = self._to_write.take()
            panel.values = transformed(plan, panel.values, work, panel.written)
            self._work.give(work)
            self._to_read.give(panel.read)
            panel.read = None
        self.times.transform_seconds += time.perf_counter() - begin
        return panel

    def _write(self, panel: _Panel) -> _Panel:
        begin = time.perf_counter()
        self._target.write(self._plan.box_written(panel.index), panel.values)
        self._progress.bytes_done += panel.values.nbytes
        self.times.write_seconds += time.perf_counter() - begin
        return panel
