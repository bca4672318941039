"""Executes one pass of a copy: one thread reads ahead, the caller's thread shuffles, one thread writes behind.

    read ahead  ──tiles──▶  shuffle, convert  ──slabs──▶  write behind  ──bands──▶  write back

Each arrow is a queue whose buffers are used again, so that the memory is that of the plan. The compiled core releases
the interpreter's lock while it reads, copies and writes.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import _core
from swath.array.open_array import Array
from swath.copying.ahead import ReadAhead
from swath.copying.copy_layout import Extents, Side
from swath.copying.one_pass import SLABS_WRITTEN_BEHIND, TILES_IN_PLACE, TILES_READ_AHEAD, Pass
from swath.copying.store import WriteBack
from swath.formats import differs_in_byte_order_only

Box = tuple[slice, ...]
Buffer = npt.NDArray[np.uint8]
Elements = npt.NDArray[Any]

PIECE_BYTES_MIN = 512
"""Shorter pieces of memory are gathered first: a call for each costs more than a copy in the processor's cache."""


class Progress:
    """The progress of a copy, for an observer: bytes written, counted over all passes."""

    def __init__(self, bytes_total: int, bytes_done: int = 0) -> None:
        self.bytes_total = bytes_total
        self.bytes_done = bytes_done


def elements_in(buffer: Buffer, dtype: np.dtype[Any], extents: Extents, order: Sequence[int]) -> Elements:
    """Return a box of lengths `extents` in the first bytes of a buffer; `order` lists its dimensions, slowest first."""
    count = int(np.prod(extents, dtype=np.int64))
    flat = buffer[: count * dtype.itemsize].view(dtype)
    return flat.reshape([extents[d] for d in order]).transpose(np.argsort(order))


def method_for(side: Side, extents: Extents) -> str:
    """Return how to move a box: as a `list` of pieces of memory, or `direct` through a buffer for very short pieces."""
    if side.chunk is None or side.through_library or side.worker_bytes:
        return "list"
    row = side.order[-1] if side.order else 0
    piece = min(extents[row], side.chunk[row]) * side.itemsize if extents else side.itemsize
    return "list" if piece >= PIECE_BYTES_MIN else "direct"


def tuning_of(side: Side, chunk_buffer_bytes: int) -> dict[str, int] | None:
    """Return the tuning for reading or writing a box of a side."""
    return {"chunk_buffer_bytes": chunk_buffer_bytes} if side.worker_bytes else None


def _release_free_memory(side: Side) -> None:
    """Give freed memory of compressors back to the system: it would grow with the chunks, beyond the budget."""
    if side.is_compressed:
        _core.release_free_memory()


class Tiles:
    """Reads an array box by box into the caller's buffers, in the order of the file.

    Args:
        array: opened by this process alone.
        side: the array in the copy's terms.
        axes: dimension d of the copy is dimension `axes[d]` of the array.
        chunk_buffer_bytes: buffers of the threads that decode chunks.
    """

    def __init__(self, array: Array, side: Side, axes: Sequence[int], chunk_buffer_bytes: int = 0) -> None:
        self._array = array
        self._side = side
        self._axes = tuple(axes)
        self._inverse = tuple(int(d) for d in np.argsort(axes)) if axes else ()
        self._tuning = tuning_of(side, chunk_buffer_bytes)

    def read(self, box: Box, buffer: Buffer) -> Elements:
        """Read the elements of a box. Return them as a view of the buffer in the dimensions of the copy."""
        extents = tuple(s.stop - s.start for s in box)
        elements = elements_in(buffer, self._array.dtype, extents, self._side.order)
        selection = tuple(box[d] for d in self._inverse)
        method = method_for(self._side, extents)
        out = elements.transpose(self._inverse)
        self._array.read(selection=selection, out=out, method=method, tuning=self._tuning)
        _release_free_memory(self._side)
        return elements


@dataclasses.dataclass(frozen=True)
class OpenFiles:
    """The open files of one pass.

    Attributes:
        source, target: opened by this process alone.
        axes: see `Tiles`.
        read_ahead: prefetches the source; it gets the tile that will be read. None if that is no use.
        write_back: writes the target to the device; it gets what is contiguous. None if that is no use.
    """

    source: Array
    target: Array
    axes: Sequence[int]
    read_ahead: ReadAhead | None = None
    write_back: WriteBack | None = None


class Pipeline:
    """The threads and buffers of one pass. Use it in a `with` block; `advance` executes tiles.

    Args:
        plan: the pass.
        files: source and target.
        indices: the numbers of this rank's tiles, in the order of their execution.
        progress: counts the bytes that were written.
    """

    def __init__(self, plan: Pass, files: OpenFiles, indices: Sequence[int], progress: Progress) -> None:
        self._plan = plan
        self._files = files
        self._source = Tiles(files.source, plan.source, files.axes, plan.chunk_buffer_bytes(plan.source))
        self._target = files.target
        self._indices = indices
        self._progress = progress
        self._source_dtype = files.source.dtype
        self._swaps = not plan.converts and differs_in_byte_order_only(files.source.dtype, files.target.dtype)
        self._executed = 0
        self._stop = _core.Stop()
        self._stopped = False
        self._free_tiles: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._tiles: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._free_slabs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._slabs: queue.Queue[Any] = queue.Queue()
        self._write_error: BaseException | None = None
        self._threads = [
            threading.Thread(target=work, name=f"swath-{name}", daemon=True)
            for name, work in (("read-ahead", self._read_ahead), ("write-behind", self._write_behind))
        ]

    def __enter__(self) -> Pipeline:
        plan = self._plan
        for _ in range(TILES_IN_PLACE if plan.in_place else TILES_READ_AHEAD):
            self._free_tiles.put(np.empty(plan.tile_bytes, np.uint8))
        if not plan.in_place:
            for _ in range(SLABS_WRITTEN_BEHIND):
                # Zeros: NumPy converts fields only, and old content of the memory must not get into the padding.
                self._free_slabs.put(np.zeros(plan.slab_elements * plan.target.itemsize, np.uint8))
        both = plan.shuffles and plan.converts
        self._between = np.empty(plan.slab_elements * plan.source.itemsize if both else 0, np.uint8)
        try:
            for thread in self._threads:
                thread.start()
        except BaseException as error:  # an interrupt
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        if error is not None:
            self._stop.set()  # the threads stop after their current step
        self._free_tiles.put(None)
        self._slabs.put(None)
        for thread in self._threads:
            if thread.ident is not None:  # it was started
                thread.join()

    def advance(self, tiles: int) -> None:
        """Execute this rank's next tiles; when this returns they are written, at least to the page cache.

        Raises the error of the read or the write: then nothing more is written.
        """
        for _ in range(tiles):
            tile = self._tiles.get()
            if isinstance(tile, BaseException):
                raise tile
            self._shuffle(*tile)
            self._raise_write_error()
        self._slabs.join()
        self._raise_write_error()

    def _raise_write_error(self) -> None:
        if self._write_error is not None:
            raise self._write_error

    def _read_ahead(self) -> None:
        _core.obey(self._stop)
        for index in self._indices:
            buffer = self._free_tiles.get()
            if self._stopped or buffer is None:
                return
            try:
                if self._files.read_ahead is not None:
                    self._files.read_ahead.before(index)
                box = self._plan.box(index)
                self._tiles.put((index, box, buffer, self._source.read(box, buffer)))
            except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
                self._tiles.put(error)
                return

    def _shuffle(self, index: int, box: Box, buffer: Buffer, elements: Elements) -> None:
        """Hand a tile to the writer: unchanged, or slab by slab in the target's order."""
        self._executed += 1
        plan, dtype = self._plan, self._target.dtype
        band = index // plan.band_tiles
        is_last_of_band = (
            self._executed == len(self._indices) or self._indices[self._executed] // plan.band_tiles != band
        )
        ended = band if is_last_of_band else None
        if plan.in_place:
            if self._swaps:
                elements = _swapped(elements, dtype)
            self._slabs.put((box, elements, lambda: self._free_tiles.put(buffer), ended))
            return
        for part in plan.slabs(elements.shape):
            slab = self._free_slabs.get()
            wanted: Elements = elements[(*part, ...)]  # type: ignore[arg-type] # a view also of an array without dimensions
            placed = elements_in(slab, dtype, wanted.shape, plan.target.order)
            self._place(placed, wanted)
            where = tuple(slice(b.start + p.start, b.start + p.stop) for b, p in zip(box, part, strict=True))
            self._slabs.put((where, placed, lambda slab=slab: self._free_slabs.put(slab), None))
        self._free_tiles.put(buffer)
        if is_last_of_band:
            self._slabs.put((None, None, lambda: None, ended))

    def _place(self, target: Elements, source: Elements) -> None:
        """Copy each element to its position, in the target's dtype."""
        if not self._plan.converts:
            _core.copy_strided(target, source)
            if self._swaps:
                _swapped(target, target.dtype)
            return
        if self._plan.shuffles:
            between = elements_in(self._between, self._source_dtype, source.shape, self._plan.target.order)
            _core.copy_strided(between, source)
            source = between
        with np.errstate(all="ignore"):  # like NumPy's astype, but without warnings: the caller asked for the dtype
            np.copyto(target, source, casting="unsafe")

    def _write_behind(self) -> None:
        _core.obey(self._stop)
        while (job := self._slabs.get()) is not None:
            box, elements, release, band = job
            try:
                if box is not None and self._write_error is None and not self._stopped:
                    extents = elements.shape
                    side = self._plan.target
                    tuning = tuning_of(side, self._plan.chunk_buffer_bytes(side))
                    self._target.write(elements, selection=box, method=method_for(side, extents), tuning=tuning)
                    _release_free_memory(side)
                    self._progress.bytes_done += elements.nbytes
                if band is not None and self._files.write_back is not None:
                    self._files.write_back.begin(band, self._progress.bytes_done)
            except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
                self._write_error = error
            finally:
                release()
                self._slabs.task_done()
        self._slabs.task_done()


def _swapped(elements: Elements, dtype: np.dtype[Any]) -> Elements:
    """Return the same memory in the other byte order, as `dtype`."""
    elements.byteswap(inplace=True)
    return elements.view(dtype)
