"""One pass of a transform from file to file, panel by panel. Pure.

A panel has all elements along the axes that the pass transforms, and along the others as many as fit into memory.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

from swath.copying.copy_layout import Side, pieces
from swath.copying.costs import Costs, at
from swath.copying.one_pass import CHUNK_BYTES, LIBRARY_BYTES, METHOD_BYTES, WORKERS
from swath.fft.tiles import Box, Tiles
from swath.fft.transform import TO_REAL, Dtype, Extents, Transform

FAR = 1 << 24
TRANSFORM_BYTE_SECONDS = 2e-9
"""Of one core, for a byte along one axis: typical for lines of a few thousand numbers."""
VECTOR_BYTES = 32
"""scipy.fft makes vectors of the numbers of this many bytes of lines, which it transforms together."""
LINE_COPIES, LINE_COPIES_PRIME = 2, 5
"""The copies of each of these lines: as gathered, and between two steps; more for the convolution of a length with
large prime factors, which is twice as long."""
PLAN_LINES, PLAN_LINES_PRIME = 2, 4
"""Lines of factors that scipy.fft keeps for each length, for the next transform; for a convolution."""

STEP_BYTES = 1 << 20
"""Complex numbers that are transformed at a time if it is not in place; of small panels one of `STEPS_MIN` parts."""
STEPS_MIN = 16
STEP_COPIES = 3
"""The copies of such a step: in the dtype of the transform, with zeros added, and transformed."""


@dataclasses.dataclass(frozen=True)
class _Kinds:
    """A number for each kind of buffer: for reads, for the work between, and for writes."""

    read: int
    work: int
    written: int


@dataclasses.dataclass(frozen=True)
class PanelPass:
    """One pass from file to file.

    Attributes:
        transform: the whole transform.
        axes: the axes that this pass transforms, in this order; empty if it only changes the order of elements.
        done: axes that earlier passes have transformed.
        source, target: the two sides.
        extents: lengths of a panel in the source.
        overlaps: whether the next panel is read, and the last one written, while one is transformed.
        threads: of the transform.
        order: the order of a panel in memory: the dimensions from slowest to fastest.
    """

    transform: Transform
    axes: tuple[int, ...]
    done: frozenset[int]
    source: Side
    target: Side
    extents: Extents
    overlaps: bool
    threads: int
    order: tuple[int, ...]

    @property
    def done_after(self) -> frozenset[int]:
        """Axes that are transformed after this pass."""
        return self.done | set(self.axes)

    @property
    def grid(self) -> Extents:
        """The number of panels along each dimension."""
        return tuple(-(-n // e) if e else 0 for n, e in zip(self.source.shape, self.extents, strict=True))

    @property
    def panels(self) -> int:
        """Number of panels."""
        return math.prod(self.grid)

    def box_read(self, index: int) -> Box:
        """Return the panel with that number in the source. The last dimension varies fastest."""
        places = [0] * len(self.extents)
        for d in reversed(range(len(places))):
            index, places[d] = divmod(index, self.grid[d])
        return tuple(
            slice(p * e, min((p + 1) * e, n)) for p, e, n in zip(places, self.extents, self.source.shape, strict=True)
        )

    def box_written(self, index: int) -> Box:
        """Return the same panel in the target, which has other lengths along the transformed axes."""
        return tuple(
            slice(0, self.target.shape[d]) if d in self.axes else part for d, part in enumerate(self.box_read(index))
        )

    @property
    def extents_written(self) -> Extents:
        """Lengths of a panel in the target."""
        return tuple(self.target.shape[d] if d in self.axes else e for d, e in enumerate(self.extents))

    @property
    def is_in_place(self) -> bool:
        """Whether the result of the transform is in the buffer of the read."""
        return not (self.leaves_what_it_read or self._ends_real)

    @property
    def leaves_what_it_read(self) -> bool:
        """Whether the first axis is transformed into another buffer: for real numbers, or another dtype."""
        at_work = self.transform.dtype_at_work(self.done)
        return bool(self.axes) and (at_work.kind != "c" or at_work != self.transform.dtype_after(self.done))

    @property
    def works_between(self) -> bool:
        """Whether a third buffer is needed: if both the first and the last axis are transformed into another buffer."""
        return self.leaves_what_it_read and self._ends_real and len(self.axes) > 1

    @property
    def dtype_between(self) -> Dtype:
        """The dtype after the first axis is transformed."""
        return self.transform.dtype_after(self.done | set(self.axes[:1]))

    @property
    def _ends_real(self) -> bool:
        return self.transform.kind == TO_REAL and self.transform.real_axis in self.axes

    def buffers(self, *, overlaps: bool) -> _Kinds:
        """Return the number of buffers of each kind: with overlap, one more for reads and one more for writes."""
        times = 2 if overlaps else 1
        if self.is_in_place:
            return _Kinds(2 * times - 1, 0, 0)
        return _Kinds(times, 1 if self.works_between else 0, times)

    def with_extents(self, extents: Extents) -> PanelPass:
        """Return the same pass with other panels."""
        return dataclasses.replace(self, extents=extents)

    @property
    def lines(self) -> int:
        """The lines of a panel: elements along all dimensions that are not transformed."""
        return math.prod(e for d, e in enumerate(self.extents) if d not in self.axes)

    @property
    def read_bytes(self) -> int:
        """Bytes of the buffer for the read of a panel."""
        return self.lines * self._line.read

    @property
    def written_bytes(self) -> int:
        """Bytes of a panel in the target."""
        return self.lines * self._line.written

    @property
    def work_bytes(self) -> int:
        """Bytes of the third buffer."""
        return self.lines * self._line.work

    @functools.cached_property
    def memory_bytes(self) -> int:
        """Bytes of all that is in memory at the same time."""
        return self.memory_of(self.lines, overlaps=self.overlaps and self.panels > 1)

    def lines_within(self, buffers: int, most: int) -> int:
        """Return the largest number of lines, up to `most`, of panels that fit into `buffers` bytes; 0 if none fits."""
        if self.memory_of(most, overlaps=False) <= buffers and most == self._all_lines:
            return most
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if self.memory_of(middle, overlaps=self.overlaps) <= buffers else (low, middle - 1)
            )
        return low

    def memory_of(self, lines: int, *, overlaps: bool) -> int:
        """Return the bytes of panels of this number of lines, and of all that moves and transforms them."""
        line, count = self._line, self.buffers(overlaps=overlaps)
        read, written = lines * line.read, lines * line.written
        needed = count.read * read + count.work * lines * line.work + count.written * written + self._beside(lines)
        for side, panel in ((self.source, read), (self.target, written)):
            needed += self._moving_bytes(side, panel, read) + side.table_entries * CHUNK_BYTES
        return needed

    @property
    def _all_lines(self) -> int:
        return math.prod(n for d, n in enumerate(self.source.shape) if d not in self.axes)

    @functools.cached_property
    def _line(self) -> _Kinds:
        """Bytes of one line."""
        transform, axes = self.transform, self.axes
        at_work = math.prod(transform.length_before(axis) for axis in axes)
        read = math.prod(self.source.shape[axis] for axis in axes) if self.leaves_what_it_read else at_work
        written = math.prod(self.target.shape[axis] for axis in axes)
        return _Kinds(
            read * self.source.itemsize,
            at_work * transform.complex_dtype.itemsize if self.works_between else 0,
            written * self.target.itemsize,
        )

    def step_elements(self, elements: int, axis: int) -> int:
        """Return the number of elements of a panel that are transformed at a time from one buffer into another."""
        itemsize = self.transform.complex_dtype.itemsize
        return max(min(STEP_BYTES // itemsize, elements // STEPS_MIN), self.transform.length(axis))

    def _beside(self, lines: int) -> int:
        """Return scipy.fft's bytes: for lines together, for their lengths, for a step to another buffer."""
        transform = self.transform
        itemsize = transform.complex_dtype.itemsize
        at_work = lines * math.prod(transform.length_before(axis) for axis in self.axes)
        most = 0
        for axis in self.axes:
            n = transform.length(axis)
            lanes = max(2 * VECTOR_BYTES // itemsize, 1) * self.threads
            at_once = min(at_work // transform.length_before(axis), lanes)
            most = max(most, n * itemsize * at_once * (LINE_COPIES if _is_smooth(n) else LINE_COPIES_PRIME))
        for n in {transform.length(axis) for axis in self.done_after}:
            most += n * itemsize * (PLAN_LINES if _is_smooth(n) else PLAN_LINES_PRIME)
        if not self.is_in_place:
            most += STEP_COPIES * max(self.step_elements(at_work, axis) for axis in self.axes) * itemsize
        return most

    def _moving_bytes(self, side: Side, panel: int, read: int) -> int:
        if side.worker_bytes:
            return chunk_buffer_bytes(side, read)
        return min(2 * min(LIBRARY_BYTES, panel) if side.through_library else METHOD_BYTES, max(panel, 1))

    def chunk_buffer_bytes(self, side: Side) -> int:
        """Return the buffer bytes of all threads that move the chunks of a side."""
        return chunk_buffer_bytes(side, self.read_bytes)

    @functools.cached_property
    def read_requests(self) -> int:
        """The number of contiguous runs of the source, panel by panel."""
        return requests(self.source, self.extents)

    @functools.cached_property
    def write_requests(self) -> int:
        """The number of contiguous runs of the target, panel by panel."""
        return requests(self.target, self.extents_written)

    def seconds(self, costs: Costs) -> float:
        """Return the predicted seconds: the device's, or the processors' if they are slower; and both ends."""
        device = read_seconds(self.source, self.extents, costs) + write_seconds(
            self.target, self.extents_written, costs
        )
        moved = self.source.nbytes + self.target.nbytes
        work = max(len(self.axes), 1) * moved * TRANSFORM_BYTE_SECONDS / max(costs.cores, 1.0)
        ends = (device + work) / max(self.panels, 1) if self.overlaps else min(device, work)
        return max(device, work) + ends

    def to_dict(self, costs: Costs) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "axes": list(self.axes),
            "panel": list(self.extents),
            "panels": self.panels,
            "overlaps": self.overlaps,
            "read_requests": self.read_requests,
            "write_requests": self.write_requests,
            "read_bytes": self.source.nbytes,
            "written_bytes": self.target.nbytes,
            "memory_bytes": self.memory_bytes,
            "seconds": self.seconds(costs),
        }


def requests(side: Side, extents: Extents) -> int:
    """Return the contiguous runs of an array that is moved in boxes of these lengths; for tiles, their number."""
    if isinstance(side, Tiles):
        return side.requests(extents)
    return sum(count * _requests_of_one(side, box) for count, box in pieces(side.shape, extents))


def _requests_of_one(side: Side, box: Extents) -> int:
    """Return the runs of one box; for chunks that are only partly in it, those of each part."""
    chunk = side.chunk
    if chunk is None or all(e % c == 0 for e, c in zip(box, chunk, strict=True)):
        return -(-math.prod(box) * side.itemsize // side.run_bytes(box))
    return sum(
        count * -(-math.prod(part) * side.itemsize // side.run_bytes(part)) for count, part in pieces(box, chunk)
    )


def read_seconds(side: Side, extents: Extents, costs: Costs) -> float:
    """Return the seconds of the device for reading an array in boxes of these lengths.

    A compressed chunk is read as a whole for every box that has a part of it.
    """
    again = 1.0
    if side.chunk is not None and (side.through_library or side.whole_chunks):
        for c, e, n in zip(side.chunk, extents, side.shape, strict=True):
            again *= 1.0 if e in (0, n) else (e + c - math.gcd(e, c)) / e
    count = requests(side, extents)
    return again * count * (at(costs.read, side.nbytes / max(count, 1)) + costs.read_jump)


def write_seconds(side: Side, extents: Extents, costs: Costs) -> float:
    """Return the seconds of the device for writing an array in boxes of these lengths.

    If the array fits into the waiting part of the page cache, the device gets long requests in any case.
    """
    count = requests(side, extents)
    copied = count * at(costs.cache_write, side.nbytes / max(count, 1))
    if side.nbytes <= costs.merge_bytes:
        return copied + side.nbytes * at(costs.write, FAR) / FAR
    return max(copied, count * (at(costs.write, side.nbytes / max(count, 1)) + costs.write_jump))


def chunk_buffer_bytes(side: Side, read_bytes: int) -> int:
    """Return the buffer bytes of all threads that move the chunks of a side, besides panels of `read_bytes` bytes."""
    return max(side.worker_bytes, min(WORKERS * side.worker_bytes, read_bytes // 2))


def _is_smooth(n: int) -> bool:
    return largest_prime_factor(n) <= 11


@functools.lru_cache(1000)
def largest_prime_factor(n: int) -> int:
    """Return the largest prime factor; 1 for 1."""
    largest, factor = 1, 2
    while factor * factor <= n:
        while n % factor == 0:
            largest, n = factor, n // factor
        factor += 1
    return max(largest, n)
