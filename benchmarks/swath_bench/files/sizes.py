"""Sizes of the reads, copies, dumps and records; all follow from two numbers."""

from __future__ import annotations

import dataclasses
import math

Shape = tuple[int, ...]

PLANE = (720, 1000)
"""Size of the array's maps, if there are bytes enough for LEAST_TIMES of them; else a half of each, a quarter, …"""
LEAST_TIMES = 24
LEAST_BYTES = 1 << 16
CHUNK = (30, 72, 100)
"""864 KB: HDF5's default chunk cache can hold this, in all versions."""
SERIES_CHUNK = (None, 24, 25)
"""Chunks after a re-chunking: whole series."""
SEVERAL = 5
"""Variables of the file that is re-chunked as a whole: each has a part of the array's times."""
MANY = 100
"""Variables of the file that xarray opens."""
THOUSANDS, BYTES_EACH = 5000, 1024
"""Variables of the file of thousands of variables, if the run has this many bytes for each; else fewer."""
FILES, BYTES_A_FILE = 120, 16384
"""Files that are opened as one dataset, if the run has this many bytes for each; else fewer."""
DUMPED = 24
APPENDED = 3


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The sizes of one run.

    Attributes:
        bytes: the bytes of the array, and of all variables of a dump together.
        records: the number of appended records.
    """

    bytes: int
    records: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return the shape of the array: (time, y, x)."""
        rows, columns = PLANE
        while self.bytes < LEAST_TIMES * rows * columns * 4:
            rows, columns = rows // 2, columns // 2
        return self.bytes // (rows * columns * 4), rows, columns

    @property
    def chunks(self) -> Shape:
        """Return the chunk shape of the array's file."""
        return tuple(min(extent, chunk) for extent, chunk in zip(self.shape, CHUNK, strict=True))

    @property
    def series_chunks(self) -> Shape:
        """Return the chunk shape after re-chunking: all times of a few places."""
        return tuple(min(extent, chunk or extent) for extent, chunk in zip(self.shape, SERIES_CHUNK, strict=True))

    @property
    def part_shape(self) -> tuple[int, int, int]:
        """Return the shape of each variable in the file that is re-chunked as a whole."""
        times, rows, columns = self.shape
        return times // SEVERAL, rows, columns

    @property
    def part_chunks(self) -> Shape:
        """Return the chunk shape of each of these variables."""
        return tuple(min(extent, chunk) for extent, chunk in zip(self.part_shape, CHUNK, strict=True))

    @property
    def part_series_chunks(self) -> Shape:
        """Return the chunk shape of these variables after re-chunking: all times of a few places."""
        return tuple(min(extent, chunk or extent) for extent, chunk in zip(self.part_shape, SERIES_CHUNK, strict=True))

    @property
    def thousands(self) -> int:
        """Return the number of variables in the file of thousands."""
        return min(THOUSANDS, self.bytes // BYTES_EACH)

    @property
    def files(self) -> int:
        """Return the number of files that are opened as one dataset."""
        return min(FILES, self.bytes // BYTES_A_FILE)

    @property
    def dumped(self) -> tuple[int, int, int]:
        """Return the shape of each variable of a dump, in doubles: a cube of even length, which ranks can divide."""
        side = max(2, round(math.cbrt(self.bytes / DUMPED / 8)) // 2 * 2)
        return side, side, side

    @property
    def record(self) -> tuple[int, int]:
        """Return the shape of a record of each appended variable, in single precision."""
        rows, columns = self.shape[1:]
        return max(rows // 4, 1), max(columns // 4, 1)
