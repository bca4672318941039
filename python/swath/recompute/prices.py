"""Measured and predicted times of computing, reading and using. Pure: the same reports give the same prices.

Every rank keeps the prices of all ranks, from all reports, so that all choose the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from swath.recompute.choice import Places, RankBatches, Seconds

NEW_COUNTS = 0.5
"""The weight of the last measurement against all earlier ones."""
GROWTH_MAX = 1.2
"""The most by which a batch can become more expensive than the others between two measurements."""
CACHED_MIN, COLD_MAX = 0.9, 0.1
"""A batch is read at once if the first part of it is cached; a read measures the disk up to the second part."""

Interval = tuple[float, float]


@dataclasses.dataclass
class Transfers:
    """Reads or writes of one kind that one rank measured in one iteration.

    Attributes:
        nbytes: of all.
        intervals: begin and end of each, by the clock of the node.
    """

    nbytes: int = 0
    intervals: list[Interval] = dataclasses.field(default_factory=list)

    def add(self, nbytes: int, begin: float, seconds: float) -> None:
        """Add one transfer."""
        self.nbytes += nbytes
        self.intervals.append((begin, begin + seconds))

    @property
    def seconds(self) -> float:
        """Return the sum of their seconds."""
        return sum(end - begin for begin, end in self.intervals)


@dataclasses.dataclass(frozen=True)
class Report:
    """The report of one rank to the others at the end of an iteration.

    Attributes:
        node: of the rank.
        computing: seconds of each of its batches; NaN for those that it did not compute.
        cached: part of each in the page cache when it was read; NaN for those that it did not read.
        using: seconds of its program; NaN if it left the loop early.
        cold, warm, written: reads that the disk served, those that the page cache served, and writes.
        places: of its batches.
        on_disk: whether each is in the file.
        may_write: whether the file can take more batches.
        memory_bytes: the memory for its batches.
        seconds: of the iteration.
        waited: of these, for the disk.
        read_bytes: bytes that were read from the file.
        is_conclusive: the iteration was whole, without writes: its time is that of these places.
    """

    node: int
    computing: Seconds
    cached: Seconds
    using: float
    cold: Transfers
    warm: Transfers
    written: Transfers
    places: Places
    on_disk: np.ndarray[tuple[int], np.dtype[np.bool_]]
    may_write: bool
    memory_bytes: int
    seconds: float = 0.0
    waited: float = 0.0
    read_bytes: int = 0
    is_conclusive: bool = False


def union_seconds(intervals: Iterable[Interval]) -> float:
    """Return the seconds in which at least one of the intervals runs."""
    total, until = 0.0, -np.inf
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return float(total)


class Prices:
    """Prices of all ranks' batches, learned from iteration to iteration.

    Args:
        nbytes: of each rank's batches.
        cold: the first guess of the disk's seconds per byte.
        warm: the same for the page cache.
        computing: seconds of each rank's batches if they are known, else NaN.
    """

    def __init__(
        self, nbytes: Sequence[np.ndarray[tuple[int], np.dtype[np.int64]]], cold: float, warm: float,
        computing: Sequence[Seconds],
    ) -> None:  # fmt: skip
        self._nbytes = nbytes
        self.cold = cold
        self.warm = warm
        self.is_measured = False
        self._computing = [seconds.copy() for seconds in computing]
        self._cached = [np.zeros(len(own)) for own in nbytes]
        self._using = [float("nan")] * len(nbytes)

    def learn(self, reports: Sequence[Report]) -> None:
        """Add the measurements of all ranks."""
        for rank, report in enumerate(reports):
            self._computing[rank] = _computing(self._computing[rank], report.computing)
            seen = ~np.isnan(report.cached)
            self._cached[rank][seen] = report.cached[seen]
            self._cached[rank][~report.on_disk] = 0.0  # not known to be cached, so assumed not to be
            self._using[rank] = float(_mixed(np.array(self._using[rank]), np.array(report.using)))
        cold = seconds_a_byte([(report.node, report.cold) for report in reports])
        written = seconds_a_byte([(report.node, report.written) for report in reports])
        if cold is not None:
            # The first measurement replaces the guess.
            self.cold = cold if not self.is_measured else float(_weighed(self.cold, cold))
            self.is_measured = True
        elif written is not None and not self.is_measured:
            self.cold = written  # until something is read, the time of writing is used
        warm_bytes = sum(report.warm.nbytes for report in reports)
        if warm_bytes:  # each rank copies on its own processor
            self.warm = float(_weighed(self.warm, sum(report.warm.seconds for report in reports) / warm_bytes))

    @property
    def knows_computing(self) -> bool:
        """Whether the computing of any batch was measured."""
        return any(not np.isnan(seconds).all() for seconds in self._computing)

    def computing_of(self, rank: int) -> Seconds:
        """Return the seconds of each batch of a rank; unknown ones get the others' seconds per byte."""
        known = self._computing[rank]
        if not np.isnan(known).any():
            return known
        seconds = sum(float(np.nansum(one)) for one in self._computing)
        nbytes = sum(int(own[~np.isnan(one)].sum()) for own, one in zip(self._nbytes, self._computing, strict=True))
        return np.where(np.isnan(known), self._nbytes[rank] * (seconds / max(nbytes, 1)), known)

    def batches_of(self, rank: int, memory_bytes: int, places: Places) -> RankBatches:
        """Return a rank's batches with their times."""
        nbytes, cached = self._nbytes[rank], self._cached[rank]
        at_once = cached >= CACHED_MIN
        reading = np.where(at_once, 0.0, nbytes * (1 - cached) * self.cold)
        copying = np.where(at_once, nbytes * self.warm, 0.0)
        using = 0.0 if np.isnan(self._using[rank]) else self._using[rank]
        return RankBatches(nbytes, self.computing_of(rank), reading, copying, using, memory_bytes, places)


def _mixed(old: Seconds, new: Seconds) -> Seconds:
    """Return the weighted mean of old and new values; the other value if one is NaN."""
    both = _weighed(old, new)
    return np.where(np.isnan(new), old, np.where(np.isnan(old), new, both))


def _computing(old: Seconds, new: Seconds) -> Seconds:
    """Return the seconds of each batch: the mean of the last measurement and the earlier ones.

    For a single batch, the smaller value counts: one that took far longer was disturbed. Batches that were not computed
    this time change by the same factor as the others.
    """
    both = ~np.isnan(old) & ~np.isnan(new)
    before, now = float(old[both].sum()), float(new[both].sum())
    if before <= 0 or now <= 0:
        return _mixed(old, new)
    ratio = now / before
    least = np.minimum(old * ratio * GROWTH_MAX, new)
    middle = float(_weighed(before, now))
    mixed = np.where(both, least * (middle / float(least[both].sum())), old * float(_weighed(1.0, ratio)))
    return np.where(np.isnan(old), new, mixed)


def _weighed(old: float | Seconds, new: float | Seconds) -> float | Seconds:
    return NEW_COUNTS * new + (1 - NEW_COUNTS) * old


def seconds_a_byte(transfers: Sequence[tuple[int, Transfers]]) -> float | None:
    """Return the disk's seconds per byte: for the bytes of all ranks, while any of them was served.

    Clocks of different nodes cannot be compared: the node with the longest service time counts.
    """
    nbytes = sum(one.nbytes for _, one in transfers)
    if nbytes == 0:
        return None
    of_nodes: dict[int, list[Interval]] = {}
    for node, one in transfers:
        of_nodes.setdefault(node, []).extend(one.intervals)
    return max(union_seconds(intervals) for intervals in of_nodes.values()) / nbytes
