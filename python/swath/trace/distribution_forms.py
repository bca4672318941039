"""Distributions of a file's bytes over ranks, in numbers: which bytes each rank has. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
OwnedRuns = tuple[Int64s, Int64s, Int64s]
"""For each run: the rank that has it, its start, its length."""
RECORD_AXES = 2


class Distribution(ABC):
    """Which bytes of a file each rank has."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return "block", "cyclic", "tiles", "records", "multi-partition", "contiguous" or "strided"."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Return the distribution in words, with its numbers."""

    @property
    @abstractmethod
    def runs_count(self) -> int:
        """Return how many runs `runs` would return."""

    @abstractmethod
    def runs(self) -> OwnedRuns:
        """Return all bytes, as runs of ranks (those that take part, numbered from 0)."""


@dataclass(frozen=True)
class Cyclic(Distribution):
    """Blocks are dealt to the ranks in turn.

    Attributes:
        base: the first byte.
        block: the bytes of a block.
        ranks: the number of ranks.
        end: the byte behind the last one; the last block may be shorter.
    """

    base: int
    block: int
    ranks: int
    end: int

    @property
    def name(self) -> str:
        """Return the name."""
        return "cyclic"

    @property
    def words(self) -> str:
        """Return it in words."""
        return f"CYCLIC({self.block:,} bytes) over {self.ranks} ranks, from byte {self.base:,} to {self.end:,}"

    @property
    def runs_count(self) -> int:
        """Return how many blocks there are."""
        return -(-(self.end - self.base) // self.block)

    def runs(self) -> OwnedRuns:
        """Return the blocks."""
        number = np.arange(self.runs_count)
        starts = self.base + number * self.block
        return number % self.ranks, starts, np.minimum(self.block, self.end - starts)


@dataclass(frozen=True)
class Grid(Distribution):
    """A row-major array whose axes are cut into intervals: each rank has one interval of each axis.

    Attributes:
        base: the byte of the array's first element.
        strides: bytes between neighbours along each axis; the last axis counts bytes.
        cuts: the intervals of each axis, half-open.
        owner: the rank of each combination of intervals.
    """

    base: int
    strides: tuple[int, ...]
    cuts: tuple[tuple[tuple[int, int], ...], ...]
    owner: Int64s

    @property
    def name(self) -> str:
        """Return the name."""
        if self.owner.size == 1:
            return "contiguous" if len(self.strides) == 1 else "strided"
        if len(self.strides) == 1:
            return "block"
        cut_axes = [axis for axis, parts in enumerate(self.owner.shape) if parts > 1]
        return "records" if len(cut_axes) == 1 and cut_axes[0] > 0 else "tiles"

    @property
    def words(self) -> str:
        """Return it in words."""
        sizes = [_spoken({high - low for low, high in of}) for of in self.cuts]
        counts = " × ".join([*sizes[:-1], f"{sizes[-1]} bytes"])
        at = f"from byte {self.base:,}"
        by = f", strides of {', '.join(f'{one:,}' for one in self.strides[:-1])} bytes" if len(sizes) > 1 else ""
        parts = " × ".join(map(str, self.owner.shape))
        if self.owner.size == 1:
            return f"{self.name}: {counts}{by}, {at}"
        if self.name == "block":
            return f"BLOCK: {counts} each of {self.owner.size} ranks, {at}"
        if self.name == "records":
            total = self.cuts[0][0][1]
            return f"{total:,} records, each cut among {self.owner.size} ranks: {counts} a rank{by}, {at}"
        return f"tiles on {parts} ranks: {counts} a rank{by}, {at}"

    @property
    def runs_count(self) -> int:
        """Return how many runs there are."""
        count = len(self.cuts[-1])
        for of in self.cuts[:-1]:
            count *= sum(high - low for low, high in of)
        return count

    def runs(self) -> OwnedRuns:
        """Return a run for each combination of outer indices and intervals of bytes."""
        outer = [np.concatenate([np.arange(low, high) for low, high in of]) for of in self.cuts[:-1]]
        inner = np.array(self.cuts[-1], np.int64)
        starts = inner[:, 0]
        for places, stride in zip(reversed(outer), reversed(self.strides[:-1]), strict=True):
            starts = (places[:, None] * stride + starts.reshape(1, -1)).reshape(-1)
        owner = self.owner
        for axis, of in enumerate(self.cuts[:-1]):
            owner = np.repeat(owner, [high - low for low, high in of], axis=axis)
        lengths = np.broadcast_to(inner[:, 1] - inner[:, 0], owner.shape).reshape(-1)
        return owner.reshape(-1), self.base + starts, lengths


def _spoken(sizes: set[int]) -> str:
    return f"{min(sizes):,}" if len(sizes) == 1 else f"{min(sizes):,} to {max(sizes):,}"


@dataclass(frozen=True)
class MultiPartition(Distribution):
    """NPB's multi-partition of a cube (BTIO): each of side² ranks has one cell of each layer, along a diagonal.

    Attributes:
        base: the first byte.
        points: the points along each axis.
        element: the bytes of a point.
        side: the cells along each axis; the first ones have a point more if the division leaves a rest.
    """

    base: int
    points: int
    element: int
    side: int

    @property
    def name(self) -> str:
        """Return the name."""
        return "multi-partition"

    @property
    def words(self) -> str:
        """Return it in words."""
        shape = " × ".join([f"{self.points:,}"] * 3)
        return (
            f"multi-partition (BTIO) of {shape} points of {self.element:,} bytes over {self.side**2} ranks, "
            f"{self.side} cells each, from byte {self.base:,}"
        )

    @property
    def runs_count(self) -> int:
        """Return how many rows of cells there are."""
        return self.side * self.points**2

    def runs(self) -> OwnedRuns:
        """Return the rows of the cells."""
        side, points = self.side, self.points
        sizes = points // side + (np.arange(side) < points % side)
        begins = np.cumsum(sizes) - sizes
        cell_of = np.repeat(np.arange(side), sizes)
        z, y, column = np.meshgrid(np.arange(points), np.arange(points), np.arange(side), indexing="ij")
        layer, row = cell_of[z], cell_of[y]
        # Cell c of rank r is at x = r mod side + c, y = r div side - c (mod side), in layer c.
        rank = (column - layer) % side + side * ((row + layer) % side)
        starts = self.base + ((z * points + y) * points + begins[column]) * self.element
        return rank.reshape(-1), starts.reshape(-1), (sizes[column] * self.element).reshape(-1)
