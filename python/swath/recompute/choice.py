"""Decides which batches are kept in memory, which on disk, and which are computed again. Pure.

An iteration takes T = max(computing + copying + using, reading) seconds, because reads run while others are computed
and used; the slowest rank counts, and the ranks share a disk, so their reads add up. Bytes in the page cache are not
read in the background; the program copies them. The most expensive batches (seconds of computing per second of reading)
are not computed: memory takes those with the most seconds per byte, the disk the next ones, until reading takes as long
as the rest. The idea: balanced I/O of SCF 3.0 (application-I/O paper, section 4.4, figure 6), where the user gives the
share.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Seconds = npt.NDArray[np.float64]
Places = npt.NDArray[np.int8]

KEPT_COUNTS_MORE = 1.1
"""A batch that is kept already counts this much more: equal batches do not change places because of noise."""
CURVE_POINTS = 21
END_GAIN_MIN = 0.07
"""A share between all and none on disk must save this part of an iteration's time: reading takes some processor
time, which the formula ignores."""


class Source(enum.IntEnum):
    """The source of a batch's values."""

    COMPUTED = 0
    IN_MEMORY = 1
    ON_DISK = 2


@dataclasses.dataclass(frozen=True)
class RankBatches:
    """The batches of one rank, and their times.

    Attributes:
        nbytes: of each batch.
        computing: seconds of each.
        reading: seconds of the disk for each, all ranks' requests together.
        copying: seconds of the program for each, if it comes from the file.
        using: seconds of the program for all of them.
        memory_bytes: the memory for batches.
        places: the current place of each.
        stays: whether batches on disk come before all others.
    """

    nbytes: npt.NDArray[np.int64]
    computing: Seconds
    reading: Seconds
    copying: Seconds
    using: float
    memory_bytes: int
    places: Places
    stays: bool = False


@dataclasses.dataclass(frozen=True)
class DiskLimit:
    """The bytes on the disk: the best number up to `bytes_max`, or exactly this number (`is_fixed`)."""

    bytes_max: int
    is_fixed: bool = False


@dataclasses.dataclass(frozen=True)
class Choice:
    """The places of all ranks' batches, and the predicted time of an iteration.

    Attributes:
        places: of each rank's batches.
        computing: seconds of computing, copying and using on the slowest rank.
        reading: seconds of the disk.
        disk_bytes: kept on disk, of all ranks.
    """

    places: list[Places]
    computing: float
    reading: float
    disk_bytes: int

    @property
    def seconds(self) -> float:
        """The seconds of an iteration."""
        return max(self.computing, self.reading)


def choose(ranks: Sequence[RankBatches], disk: DiskLimit) -> Choice:
    """Return the places of all batches with the fastest iteration within the limits."""
    problem = _Problem(ranks)
    level = problem.least_level(disk.bytes_max) if disk.is_fixed else problem.best_level(disk.bytes_max)
    counts = problem.counts(level)
    return problem.choice(counts, disk.bytes_max if disk.is_fixed else None)


def choose_simply(ranks: Sequence[RankBatches], disk: DiskLimit) -> Choice:
    """Like `choose`, but all computed, or all on disk, if a share between them saves little (`END_GAIN_MIN`)."""
    best = choose(ranks, disk)
    ends = [choose(ranks, DiskLimit(0, is_fixed=True))]
    everything = choose(ranks, DiskLimit(disk.bytes_max, is_fixed=True))
    if not any((places == Source.COMPUTED).any() for places in everything.places):
        ends.append(everything)
    end = min(ends, key=lambda one: one.seconds)
    return end if best.seconds >= (1 - END_GAIN_MIN) * end.seconds else best


def priced(ranks: Sequence[RankBatches], places: Sequence[Places]) -> Choice:
    """Return the prediction for an iteration with these places."""
    computing = [_computing(one, where) for one, where in zip(ranks, places, strict=True)]
    reading = sum(float(one.reading[where == Source.ON_DISK].sum()) for one, where in zip(ranks, places, strict=True))
    nbytes = sum(int(one.nbytes[where == Source.ON_DISK].sum()) for one, where in zip(ranks, places, strict=True))
    return Choice(list(places), max(computing, default=0.0), reading, nbytes)


def left_by_memory(ranks: Sequence[RankBatches]) -> int:
    """Return the bytes of all batches that are not in memory."""
    return sum(int(one.nbytes[~_in_memory(one)].sum()) for one in ranks)


def curve(ranks: Sequence[RankBatches], points: int = CURVE_POINTS) -> list[tuple[float, float]]:
    """Return (share of bytes on disk, predicted seconds of an iteration), from nothing to all that is not in memory."""
    problem = _Problem(ranks)
    total = sum(int(one.nbytes.sum()) for one in ranks)
    drawn: dict[float, float] = {}
    for point in range(points):
        limit = int(problem.bytes_max * point / (points - 1))
        found = problem.choice(problem.counts(problem.least_level(limit)), limit)
        drawn[found.disk_bytes / total if total else 0.0] = found.seconds
    return sorted(drawn.items())


def _computing(one: RankBatches, places: Places) -> float:
    computing = one.computing[places == Source.COMPUTED].sum() + one.copying[places == Source.ON_DISK].sum()
    return float(computing) + one.using


def _saved(one: RankBatches) -> Seconds:
    """Return the program's seconds that each batch saves if it comes from the file."""
    saved: Seconds = np.maximum(one.computing - one.copying, 0.0)
    return saved


class _Problem:
    """Sorted batches: for each rank, those that are not in memory, most expensive first, and sums over the first k."""

    def __init__(self, ranks: Sequence[RankBatches]) -> None:
        self._ranks = ranks
        self._in_memory = [_in_memory(one) for one in ranks]
        self._orders = [_order(one, kept) for one, kept in zip(ranks, self._in_memory, strict=True)]
        self._computed: list[Seconds] = []  # of all but the first k on disk, with using
        self._bytes: list[npt.NDArray[np.int64]] = []
        self._reading: list[Seconds] = []
        for one, order in zip(ranks, self._orders, strict=True):
            after = np.concatenate((np.cumsum(_saved(one)[order][::-1])[::-1], [0.0]))
            always = np.minimum(one.computing, one.copying)[order].sum() + one.using
            self._computed.append(np.minimum.accumulate(after) + always)
            self._bytes.append(_sums(one.nbytes[order]))
            self._reading.append(_sums(one.reading[order]))
        self._levels = np.unique(np.concatenate(self._computed or [np.zeros(1)]))
        self.bytes_max = sum(int(sums[-1]) for sums in self._bytes)

    def counts(self, level: float) -> list[int]:
        """Return the number of batches on disk of each rank, so that its computing and using take at most `level`."""
        # The sums decrease: take the first that is at most the level, or the last.
        return [int(np.searchsorted(-sums, -max(level, float(sums[-1])), "left")) for sums in self._computed]

    def best_level(self, bytes_max: int) -> float:
        """Return the seconds of computing for which max(computing, reading) is the least."""
        level = self._first(lambda one: self._reading_at(one) <= one and self._bytes_at(one) <= bytes_max)
        index = int(np.searchsorted(self._levels, level))
        candidates = [one for one in self._levels[max(0, index - 1) : index + 1] if self._bytes_at(one) <= bytes_max]
        return float(min(candidates, key=lambda one: (self._seconds_at(one), self._bytes_at(one))))

    def least_level(self, bytes_max: int) -> float:
        """Return the least seconds of computing within the disk's limit."""
        return self._first(lambda one: self._bytes_at(one) <= bytes_max)

    def choice(self, counts: Sequence[int], fill_up_to: int | None) -> Choice:
        """Return the choice of the first `counts` batches, filled up with others to a limit."""
        places = []
        for kept, order, count in zip(self._in_memory, self._orders, counts, strict=True):
            where = np.full(len(kept), Source.COMPUTED, np.int8)
            where[kept] = Source.IN_MEMORY
            where[order[:count]] = Source.ON_DISK
            places.append(where)
        if fill_up_to is not None:
            self._fill_up(places, counts, fill_up_to)
        return priced(self._ranks, places)

    def _fill_up(self, places: list[Places], counts: Sequence[int], bytes_max: int) -> None:
        """Add the most expensive of the other batches that fit."""
        room = bytes_max - sum(int(sums[count]) for sums, count in zip(self._bytes, counts, strict=True))
        rests = [order[count:] for order, count in zip(self._orders, counts, strict=True)]
        number = np.repeat(np.arange(len(rests)), [len(rest) for rest in rests])
        batch = np.concatenate(rests) if rests else np.zeros(0, np.intp)
        nbytes = np.concatenate([one.nbytes[rest] for one, rest in zip(self._ranks, rests, strict=True)] or [batch])
        if nbytes.min(initial=room + 1) > room:
            return
        keys = [_keys(one)[:, rest] for one, rest in zip(self._ranks, rests, strict=True)]
        order = np.lexsort((number, *np.concatenate(keys or [np.zeros((2, 0))], axis=1)))
        for index in order[nbytes[order] <= room]:
            if nbytes[index] <= room:
                places[number[index]][batch[index]] = Source.ON_DISK
                room -= int(nbytes[index])

    def _first(self, holds: Any) -> float:
        """Return the lowest level for which `holds` is true; it is true from some level on."""
        low, high = 0, len(self._levels) - 1
        while low < high:
            middle = (low + high) // 2
            if holds(float(self._levels[middle])):
                high = middle
            else:
                low = middle + 1
        return float(self._levels[low])

    def _bytes_at(self, level: float) -> int:
        return sum(int(sums[count]) for sums, count in zip(self._bytes, self.counts(level), strict=True))

    def _reading_at(self, level: float) -> float:
        return sum(float(sums[count]) for sums, count in zip(self._reading, self.counts(level), strict=True))

    def _seconds_at(self, level: float) -> float:
        computing = [float(sums[count]) for sums, count in zip(self._computed, self.counts(level), strict=True)]
        return max(self._reading_at(level), *computing) if computing else 0.0


def _in_memory(one: RankBatches) -> npt.NDArray[np.bool_]:
    """Return the batches for memory: most expensive per byte first, while there is space."""
    kept = np.zeros(len(one.nbytes), bool)
    if one.memory_bytes >= one.nbytes.sum():
        kept[:] = True
        return kept
    worth = _worth(one.computing, one.nbytes) * np.where(one.places == Source.IN_MEMORY, KEPT_COUNTS_MORE, 1.0)
    room = one.memory_bytes
    for batch in np.argsort(-worth, kind="stable"):
        if one.nbytes[batch] <= room:
            kept[batch] = True
            room -= int(one.nbytes[batch])
    return kept


def _order(one: RankBatches, in_memory: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    order = np.lexsort(_keys(one))
    return order[~in_memory[order]]


def _keys(one: RankBatches) -> npt.NDArray[np.float64]:
    """Return sort keys of batches for the disk: last those that stay there, before them the most expensive first."""
    is_stored = one.places == Source.ON_DISK
    worth = _worth(_saved(one), one.reading) * np.where(is_stored, KEPT_COUNTS_MORE, 1.0)
    return np.stack((-worth, np.where(is_stored & one.stays, 0.0, 1.0)))


def _worth(computing: Any, cost: Any) -> Any:
    """Return seconds of computing per unit of a cost, which may be 0."""
    return computing / np.maximum(cost, 1e-30)


def _sums(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.concatenate((np.zeros(1, values.dtype), np.cumsum(values)))
