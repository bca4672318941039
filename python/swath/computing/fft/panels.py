"""Carrying out one pass: a thread that reads ahead, the caller's that transforms, one that writes behind."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.array.open_array import Array
from swath.computing.fft.passes import PanelPass
from swath.computing.fft.tiles import Box, Tiles
from swath.computing.fft.transform import FROM_REAL, TO_REAL, Transform
from swath.copying.pipeline import PIECE_BYTES_MIN, Progress, tuning_of
from swath.copying.sides import Side
from swath.errors import UnsupportedError

Elements = npt.NDArray[Any]


@dataclasses.dataclass
class PassTimes:
    """Seconds of one pass on this rank.

    Attributes:
        seconds: all of it.
        read_seconds, write_seconds: of reading and writing, mostly beside the transform.
        transform_seconds: of scipy.fft.
        waited_seconds: for panels to be read and written, with nothing to transform.
    """

    seconds: float = 0.0
    read_seconds: float = 0.0
    write_seconds: float = 0.0
    transform_seconds: float = 0.0
    waited_seconds: float = 0.0


def scipy_fft() -> Any:
    """Return the module scipy.fft. Raises UnsupportedError where there is none."""
    try:
        import scipy.fft
    except ImportError:
        raise UnsupportedError("Fourier transforms need scipy: pip install 'swath[fft]'") from None
    return scipy.fft


class Opened:
    """Source or target of a pass, opened by this process alone, in the dimensions of the planning.

    Args:
        arrays: the array; of tiles one for each of their regions.
        side: as it was planned.
        dimensions: dimension d of the planning is dimension `dimensions[d]` of the array.
        chunk_buffer_bytes: of threads that code chunks.
    """

    def __init__(self, arrays: Sequence[Array], side: Side, dimensions: Sequence[int], chunk_buffer_bytes: int) -> None:
        self._arrays = arrays
        self._side = side
        self._inverse = tuple(int(d) for d in np.argsort(dimensions)) if dimensions else ()
        self._tuning = tuning_of(side, chunk_buffer_bytes)

    def read(self, box: Box, out: Elements) -> None:
        """Read a box into memory of its shape, in the machine's byte order."""
        for array, inside, part in self._parts(box):
            memory = out[part]
            turned = memory.transpose(self._inverse)
            method = _method(self._side, memory)
            array.read(selection=self._turned(inside), out=turned, method=method, tuning=self._tuning)

    def write(self, box: Box, values: Elements) -> None:
        """Write a box. The values may be left in the other byte order."""
        dtype = self._arrays[0].dtype
        if values.dtype != dtype:
            values = values.byteswap(inplace=True).view(dtype)
        for array, inside, part in self._parts(box):
            memory = values[part]
            turned = memory.transpose(self._inverse)
            method = _method(self._side, memory)
            array.write(turned, selection=self._turned(inside), method=method, tuning=self._tuning)

    def sync(self) -> None:
        """Wait for what was written to be on the medium."""
        self._arrays[0].sync()

    def _parts(self, box: Box) -> Iterator[tuple[Array, Box, Any]]:
        """Yield arrays with what a box has of each: in the array, and in the box."""
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
    """How a box is moved: `list` as memory is, or `direct` through a small buffer where its pieces are very short."""
    if side.through_library or side.worker_bytes:
        return "list"
    long = [d for d in side.order if memory.shape[d] > 1]
    if not long:
        return "list"
    row = long[-1]
    piece = memory.shape[row] if side.chunk is None else min(memory.shape[row], side.chunk[row])
    is_whole = memory.strides[row] == memory.itemsize and piece * memory.itemsize >= PIECE_BYTES_MIN
    return "list" if is_whole else "direct"


class Panels:
    """The threads of one pass. Use it in a `with` block.

    Args:
        plan: the pass.
        source, target: that it moves bytes from and to.
        progress: told how many bytes were written.
    """

    def __init__(self, plan: PanelPass, source: Opened, target: Opened, progress: Progress) -> None:
        self._plan = plan
        self._source = source
        self._target = target
        self._progress = progress
        self._stop = _core.Stop()
        self.times = PassTimes()
        self._order = plan.order
        self._threads = [
            ThreadPoolExecutor(1, f"swath-fft-{name}", _core.obey, (self._stop,)) for name in ("read", "write")
        ]

    def __enter__(self) -> Panels:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stop.set()  # what the threads are at
        for thread in self._threads:
            thread.shutdown(wait=True, cancel_futures=True)

    def carry_out(self, indices: Sequence[int]) -> None:
        """Read, transform and write these panels; when it returns they are written, in the page cache at least."""
        begin = time.perf_counter()
        if self._plan.overlaps:
            self._overlapped(indices)
        else:
            for index in indices:
                self._write(index, self._transformed(self._read(index)))
        self.times.seconds += time.perf_counter() - begin

    def _overlapped(self, indices: Sequence[int]) -> None:
        reader, writer = self._threads
        ahead: Future[Elements] | None = reader.submit(self._read, indices[0]) if indices else None
        behind: Future[None] | None = None
        for place, index in enumerate(indices):
            assert ahead is not None
            values = [self._waited(ahead)]
            # The one that was read is let go of before the next is asked for: memory is what the plan states.
            ahead = reader.submit(self._read, indices[place + 1]) if place + 1 < len(indices) else None
            written = self._transformed(values.pop())
            if behind is not None:
                self._waited(behind)
            behind = writer.submit(self._write, index, written)
            del written
        if behind is not None:
            self._waited(behind)

    def _waited(self, future: Future[Any]) -> Any:
        begin = time.perf_counter()
        try:
            return future.result()
        finally:
            self.times.waited_seconds += time.perf_counter() - begin

    def _read(self, index: int) -> Elements:
        """Return memory with a panel in it, as long along the axes as the transform."""
        begin = time.perf_counter()
        plan = self._plan
        box = plan.box_read(index)
        extents = tuple(part.stop - part.start for part in box)
        transform = plan.transform
        dtype = transform.dtype_after(plan.done)
        if plan.is_converted:
            values = _empty(extents, dtype, self._order)
            self._source.read(box, values)
        else:
            at_work = tuple(transform.length_before(d) if d in plan.axes else n for d, n in enumerate(extents))
            values = _empty(at_work, dtype, self._order)
            _clear_beyond(values, extents)
            self._source.read(box, values[tuple(slice(0, n) for n in extents)])
        self.times.read_seconds += time.perf_counter() - begin
        return values

    def _transformed(self, values: Elements) -> Elements:
        begin = time.perf_counter()
        result = transformed(self._plan, values, self._order)
        self.times.transform_seconds += time.perf_counter() - begin
        return result

    def _write(self, index: int, values: Elements) -> None:
        begin = time.perf_counter()
        self._target.write(self._plan.box_written(index), values)
        self._progress.bytes_done += values.nbytes
        self.times.write_seconds += time.perf_counter() - begin


def transformed(plan: PanelPass, values: Elements, order: Sequence[int]) -> Elements:
    """Return a panel with the axes of a pass transformed, in the same memory where that can be."""
    if not plan.axes:
        return values
    transform = plan.transform
    if plan.is_converted:
        extents = tuple(transform.length_before(d) if d in plan.axes else n for d, n in enumerate(values.shape))
        longer = _empty(extents, transform.dtype_at_work(plan.done), order)
        _clear_beyond(longer, values.shape)
        longer[tuple(slice(0, n) for n in values.shape)] = values
        values = longer
        del longer
    for axis in plan.axes:
        values = _function(transform, axis)(values, axis=axis, norm=transform.norm, workers=plan.threads)
    return values


def _function(transform: Transform, axis: int) -> Callable[..., Elements]:
    fft = scipy_fft()
    if axis == transform.real_axis and transform.kind == FROM_REAL:
        return fft.rfft  # type: ignore[no-any-return]
    if axis == transform.real_axis and transform.kind == TO_REAL:
        return functools.partial(fft.irfft, n=transform.length(axis))
    return functools.partial(fft.ifft if transform.is_inverse else fft.fft, overwrite_x=True)


def _empty(extents: Sequence[int], dtype: np.dtype[Any], order: Sequence[int]) -> Elements:
    """Return new memory whose dimensions vary in `order`, slowest first."""
    inverse = [int(d) for d in np.argsort(order)] if len(order) else []
    return np.empty([extents[d] for d in order], dtype).transpose(inverse)


def _clear_beyond(values: Elements, extents: Sequence[int]) -> None:
    """Put zeros where nothing will be read."""
    for d, n in enumerate(extents):
        values[(*([slice(None)] * d), slice(n, None))] = 0
