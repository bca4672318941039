"""The sizes of MADbench, and the division of the matrices among the tasks: pure arithmetic.

Source: Seelam, Kerstens, Teller, *Throttling I/O Streams to Accelerate File-IO Performance*, section 4. A bin's matrix
has pixels² numbers of 8 bytes; each of P tasks has its rows of every matrix, one chunk a bin.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from swath.space import Block, Cyclic, Distribution, Whole

Values = npt.NDArray[np.float64]

PHASES = ("dSdC", "invD", "W")
VALUE_BYTES = 8
PATTERN_SHIFT = 36
"""Element i of chunk c is c × 2^36 + i: whole numbers that a double holds exactly ..."""
PATTERN_CHUNKS_MAX = 1 << (53 - PATTERN_SHIFT)
"""... as long as there are no more chunks than this."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """Matrices of pixels × pixels, one for each bin, and the tasks that work on them.

    In files and between phases a task has a contiguous block of rows. For computing, blocks of `block` rows are dealt
    out in turn among the tasks of a gang, so that all have the same work.
    """

    pixels: int
    bins: int
    tasks: int
    gangs: int = 1
    block: int = 32

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """Return the shape of the matrix of one bin."""
        return self.pixels, self.pixels

    @property
    def matrix_bytes(self) -> int:
        """S of the paper, of one bin."""
        return self.pixels**2 * VALUE_BYTES

    @property
    def chunks(self) -> Distribution:
        """Return the distribution of the rows in the files."""
        return Distribution((Block(), Whole()), (self.tasks, 1))

    def rows(self, task: int) -> tuple[int, int]:
        """Return the rows of a task in the files, half-open; empty where there are fewer rows than tasks."""
        indices = self.chunks.indices(self.matrix_shape, task)[0]
        return (int(indices[0]), int(indices[-1]) + 1) if indices.size else (0, 0)

    @property
    def gang_tasks(self) -> int:
        """Tasks of a gang."""
        return self.tasks // self.gangs

    def gang_of(self, task: int) -> int:
        """Return which gang a task works in, in phase W."""
        return task // self.gang_tasks

    def dealt(self, gang: int | None = None) -> Distribution:
        """Return the distribution of the rows while a gang computes; without a gang, while all tasks do."""
        first, count = (0, self.tasks) if gang is None else (gang * self.gang_tasks, self.gang_tasks)
        return Distribution((Cyclic(self.block), Whole()), (count, 1), range(first, first + count))

    def steps(self, phase: str) -> Iterator[range]:
        """The bins that are read or written between two barriers: one, in W one for each gang."""
        width = self.gangs if phase == "W" else 1
        for first in range(0, self.bins, width):
            yield range(first, min(first + width, self.bins))

    def step_flops(self, phase: str, bins: range) -> float:
        """Return the flops of one task in one step: build a matrix, add it to D, multiply it with the inverse of D."""
        n = self.pixels
        if phase == "W":
            return 2 * n**3 / self.gang_tasks
        return len(bins) * 2 * n**2 / self.tasks

    @property
    def inverse_flops(self) -> float:
        """Return the flops of one task at the end of invD."""
        return 2 * self.pixels**3 / self.tasks

    def pattern(self, task: int, number: int) -> Values:
        """Return the values of bin `number` of a task in I/O-only mode: no two elements of all files are equal."""
        begin, end = self.rows(task)
        first = (number * self.tasks + task) << PATTERN_SHIFT
        elements = np.arange(first, first + (end - begin) * self.pixels, dtype=np.int64)
        return elements.astype(np.float64).reshape(end - begin, self.pixels)


def checksum(chunk: Values) -> int:
    """CRC-32 of a C-ordered chunk."""
    return zlib.crc32(chunk.reshape(-1).view(np.uint8).data)
