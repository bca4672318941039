"""The facts of a run together with the prices of a store: what its calls take there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from swath.advice.runs.exact import ArrayOperations, array_operations, seconds_now
from swath.advice.runs.observed import Accesses, Metadata, Observed
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.prices import Prices
from swath.advice.runs.timing import overlap
from swath.base.adaptive import PREFETCH, WRITE_BEHIND

Found = TypeVar("Found")


@dataclass
class PricedRun:
    """A run and prices.

    Attributes:
        run: the facts of the run.
        prices: the prices of its store, or of another one.
    """

    run: Observed
    prices: Prices
    _kept: dict[object, object] = field(default_factory=dict, repr=False)

    @cached_property
    def by_file(self) -> dict[tuple[str, str], Accesses]:
        """Return the accesses by file and way."""
        return {(one.file, one.way): one for one in self.run.accesses}

    @cached_property
    def metadata_by_file(self) -> dict[str, Metadata]:
        """Return the calls that move no bytes by file."""
        return {one.file: one for one in self.run.metadata}

    @cached_property
    def operations(self) -> list[ArrayOperations]:
        """Return the exact operations on each array, if the log is a trace of Swath with such operations."""
        log = self.run.log
        is_traced = log.tracer == "Swath" and any(kind.layer == "swath" for kind in log.kinds)
        return array_operations(log.path) if is_traced else []

    @cached_property
    def planned(self) -> dict[tuple[str, str], float]:
        """Return the prices of exact operations, by file and way."""
        return {
            (array.identity, way): seconds_now(array.operations, self.prices.profile, way)
            for array in self.operations
            for way in {one.core.direction for one in array.operations}
        }

    def kept(self, key: object, make: Callable[[], Found]) -> Found:
        """Return what `make` returned for this key the first time."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[return-value]

    def now(self, one: Accesses) -> Pattern:
        """Return the calls of an access as the program makes them, as a pattern."""
        if one.layer == "swath":  # its plans decide what a call moves; a call is taken to be contiguous
            calls = max(1, one.calls // max(one.ranks, 1))
            return Pattern(one.way, max(one.ranks, 1), size=max(1, round(one.request_bytes)), times=calls)
        runs = max(1, round(one.runs)) if one.runs >= 1 else 1
        return Pattern(
            one.way,
            ranks=max(one.ranks, 1),
            regions=runs,
            size=max(1, round(one.bytes / one.passes / one.ranks / runs)),
            gap=round(one.gap),
            calls=max(1, round(one.calls_of_run)),
            method="direct",
            times=max(1, round(one.passes)),
        )

    def cached(self, one: Accesses) -> float:
        """Return 1 if the seconds of the reads are those of a page cache, else 0."""
        if one.way == "write" or self.prices.is_elsewhere:
            return 0.0
        pattern = self.now(one)
        near = [abs(_ratio(one.slowest, self.prices.seconds(pattern, part))) for part in (0.0, 1.0)]
        return float(near[1] < near[0])

    def rank_seconds(self, one: Accesses) -> dict[int, float]:
        """Return the seconds of each rank: from the log, or priced if the store is another one."""
        if not self.prices.is_elsewhere:
            return one.seconds
        return self.kept(("seconds", one.file, one.way), lambda: dict.fromkeys(one.seconds, self._priced(one)))

    def _priced(self, one: Accesses) -> float:
        priced = self.planned.get((one.file, one.way))
        return self.prices.seconds(self.now(one)) if priced is None else priced

    def adapts(self, one: Accesses, means: str) -> bool:
        """Return whether Swath adapts the access by itself, by one of `swath.base.adaptive`."""
        return means in self.run.log.adaptive.get(one.file, ())

    def is_overlapped(self, one: Accesses) -> bool:
        """Return whether Swath moves the bytes of an access while the program computes."""
        return self.adapts(one, PREFETCH if one.way == "read" else WRITE_BEHIND)

    def hidden(self, one: Accesses, rank: int) -> float:
        """Return the priced seconds of a rank that computing hides already, because Swath overlaps the two."""
        if not self.prices.is_elsewhere or not self.is_overlapped(one):
            return 0.0
        return overlap(self.run.log, one, rank, self.rank_seconds(one)[rank])

    @cached_property
    def seconds_in_calls(self) -> float:
        """Return the seconds in calls of the rank with most of them: from the log, or priced."""
        if not self.prices.is_elsewhere:
            return self.run.io_seconds
        of_rank = [0.0] * self.run.processes
        for one in self.run.accesses:
            for rank, seconds in self.rank_seconds(one).items():
                of_rank[rank % len(of_rank)] += seconds - self.hidden(one, rank)
        return max(of_rank)

    @property
    def seconds_of_run(self) -> float:
        """Return the seconds of the run. On another store, those in calls are priced, and the others stay."""
        if not self.prices.is_elsewhere:
            return self.run.seconds
        return max(self.run.seconds - self.run.io_seconds, 0.0) + self.seconds_in_calls


def _ratio(measured: float, price: float) -> float:
    """Return how far a price is from a measurement; 0 if they are equal."""
    return max(measured / price, price / measured) if measured > 0 and price > 0 else 0.0
