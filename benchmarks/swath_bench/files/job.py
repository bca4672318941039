"""One measurement, in the form that its processes get."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.ranks.ranks import Ranks
from swath.space import Block, Distribution, Whole, balanced_grid
from swath_bench.files.cases import CASES, Case
from swath_bench.files.sizes import APPENDED, DUMPED, LEAST_BYTES, MANY, SEVERAL, Sizes

Values = npt.NDArray[Any]

NAME = "t"
DIMENSIONS = ("time", "y", "x")
SUFFIXES = {"netcdf4": ".nc4", "netcdf-classic": ".nc", "zarr": ".zarr"}
SMALL = "small"
"""A folder next to the sources with the same files, but small: for the first run, which is not counted."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One measurement.

    Attributes:
        case: one of `cases.CASES`.
        contender: one of `contenders.CONTENDERS`.
        cache: "cold" or "warm", "" where nothing is read.
        folder: where the sources are.
        target: path of the target, without the suffix.
        sizes: all sizes.
        ranks: the ranks that carry it out.
    """

    case: str
    contender: str
    cache: str
    folder: str
    target: str
    sizes: Sizes
    ranks: Ranks

    @property
    def what(self) -> Case:
        """The case."""
        return CASES[self.case]

    @property
    def comm(self) -> Ranks | None:
        """Return the communicator for Swath: None for one process."""
        return self.ranks if self.ranks.size > 1 else None

    def small(self) -> Job:
        """Return the same with the small files."""
        return dataclasses.replace(
            self, folder=os.path.join(self.folder, SMALL), sizes=Sizes(LEAST_BYTES, min(self.sizes.records, 2))
        )

    def source(self, suffix: str) -> str:
        """Return the file that is read, in one format."""
        return os.path.join(self.folder, self.what.reads + suffix)

    def files(self) -> list[str]:
        """Return the files that are opened as one dataset."""
        folder = self.source(SUFFIXES["netcdf4"])
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]

    @property
    def opened_variables(self) -> int:
        """Return the number of variables of the file that xarray opens."""
        return self.sizes.thousands if self.what.reads == "thousands" else MANY

    def made(self, suffix: str = "") -> str:
        """Return the path of the target."""
        return self.target + (suffix or SUFFIXES[self.what.format])

    def array(self) -> Values:
        """Return the values of the source, mapped."""
        mapped: Values = np.load(os.path.join(self.folder, "array.npy"), mmap_mode="r")
        return mapped

    @property
    def selection(self) -> tuple[Any, ...]:
        """Return the selection of the source that this rank reads."""
        times, rows, columns = self.sizes.shape
        if self.what.work == "series":
            return np.s_[:, rows // 3, columns // 3]
        if self.what.work == "map":
            return (times // 2,)
        begin, count = block(columns, self.ranks.size, self.ranks.rank)
        return np.s_[:, :, begin : begin + count]

    def part(self, number: int) -> Values:
        """Return the values of one variable of the file that is re-chunked as a whole, mapped."""
        times = self.sizes.part_shape[0]
        return self.array()[number * times : (number + 1) * times]

    def bands(self) -> Iterator[slice]:
        """Return the rows of chunks of the source: a loop holds one in memory."""
        rows, step = self.sizes.shape[1], self.sizes.chunks[1]
        for begin in range(0, rows, step):
            yield slice(begin, min(begin + step, rows))

    @property
    def dump_distribution(self) -> Distribution:
        """Return a distribution in blocks, whole along the first dimension, as a simulation has it."""
        rules = (Whole(), Block(), Block())
        return Distribution(rules, balanced_grid(rules, self.ranks.size))

    def dump_box(self, rank: int) -> tuple[slice, ...]:
        """Return the part of each variable of a dump that a rank holds."""
        grid = self.dump_distribution.grid
        place = np.unravel_index(rank, grid)
        blocks = [block(*of) for of in zip(self.sizes.dumped, grid, map(int, place), strict=True)]
        return tuple(slice(begin, begin + count) for begin, count in blocks)

    @functools.cached_property
    def dumped(self) -> list[tuple[str, Values]]:
        """Return the variables that this rank dumps: name and values, which are made before the clock runs."""
        whole = dump_values(self.sizes.dumped)
        own = whole[self.dump_box(self.ranks.rank)]
        return [(f"v{number:02}", own + number) for number in range(DUMPED)]

    @functools.cached_property
    def appended(self) -> list[tuple[int, str, Values]]:
        """Yield the appended records: number of the record, name and values."""
        plane = np.arange(self.sizes.record[0] * self.sizes.record[1], dtype="f4").reshape(self.sizes.record)
        names = enumerate(record_names())
        return [
            (record, name, plane + np.float32(1000 * number + record))
            for record, (number, name) in itertools.product(range(self.sizes.records), list(names))
        ]


def several_names() -> list[str]:
    """Return the variables of the file that is re-chunked as a whole."""
    return [f"part{number}" for number in range(SEVERAL)]


def record_names() -> list[str]:
    """Return the variables that are appended to."""
    return [f"r{number}" for number in range(APPENDED)]


def block(extent: int, parts: int, part: int) -> tuple[int, int]:
    """Return the begin and the length of the block of one of `parts`, by HPF's rule."""
    size = -(-extent // parts)
    begin = min(part * size, extent)
    return begin, min(size, extent - begin)


def dump_values(shape: tuple[int, int, int]) -> Values:
    """Return the first variable of a dump: element i holds i; variable v is v more."""
    return np.arange(shape[0] * shape[1] * shape[2], dtype="f8").reshape(shape)
