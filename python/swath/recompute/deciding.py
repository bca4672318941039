"""Decides the places of all ranks' batches for the next iteration: the same on all ranks, from all reports. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from swath.recompute.choice import (
    Choice,
    DiskLimit,
    RankBatches,
    Source,
    choose,
    choose_simply,
    curve,
    left_by_memory,
    priced,
)
from swath.recompute.climb import GAIN_MIN, Climb, Iteration
from swath.recompute.prices import Prices, Report

NOT_WRITABLE = 1e6
"""The assumed seconds of a read that is not possible, for a batch that cannot be written: it is not chosen."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """The places of batches, and the reason; `ranks`: the input of the decision."""

    choice: Choice
    reason: str
    ranks: Sequence[RankBatches]


class Decider:
    """Decides once per iteration.

    Args:
        prices: the times of computing, reading and using.
        limit: of the bytes on disk.
        nbytes: of all batches.
    """

    def __init__(self, prices: Prices, limit: DiskLimit, nbytes: int) -> None:
        self.prices = prices
        self._limit = limit
        self._nbytes = nbytes
        self._climb = Climb()

    def decide(self, reports: Sequence[Report], *, may_be_taken: bool) -> Decision:
        """Return the next choice.

        Args:
            reports: of all ranks.
            may_be_taken: whether a file that is read-only now can become writable.
        """
        self.prices.learn(reports)
        ranks = [self._rank_batches(number, report, may_be_taken) for number, report in enumerate(reports)]
        if not self.prices.knows_computing:
            reason = "nothing is measured yet: the first iteration computes all, and keeps what is dear"
            return Decision(priced(ranks, [np.zeros(len(one.nbytes), np.int8) for one in ranks]), reason, ranks)
        if self._limit.is_fixed:
            reason = f"disk fixes the share; read at {1 / self.prices.cold / 1e6:.0f} MB/s"
            return Decision(self._chosen(_staying(ranks), self._limit.bytes_max), reason, ranks)
        return self._climbed(ranks, reports)

    def curve(self, decision: Decision) -> list[tuple[float, float]]:
        """Return the predicted seconds of an iteration over the share of all bytes that are on disk."""
        return curve(decision.ranks) if self.prices.knows_computing and self._limit.bytes_max else []

    def _rank_batches(self, number: int, report: Report, may_be_taken: bool) -> RankBatches:
        batches = self.prices.batches_of(number, report.memory_bytes, report.places)
        reading = batches.reading
        if not report.may_write and not may_be_taken:
            reading = np.where(report.on_disk, reading, NOT_WRITABLE)
        places = np.where(report.on_disk & (report.places != Source.IN_MEMORY), Source.ON_DISK, report.places)
        return dataclasses.replace(batches, reading=reading, places=places.astype(np.int8))

    def _climbed(self, ranks: Sequence[RankBatches], reports: Sequence[Report]) -> Decision:
        model = choose_simply(ranks, self._limit)
        most = min(self._limit.bytes_max, left_by_memory(ranks))
        if most == 0:
            return Decision(model, _in_words(model, ranks), ranks)
        if all(report.is_conclusive for report in reports):
            seconds = max(report.seconds for report in reports)
            waited = sum(report.waited for report in reports) / max(sum(report.seconds for report in reports), 1e-12)
            share = sum(report.read_bytes for report in reports) / most
            self._climb.learn(Iteration(min(share, 1.0), seconds, waited))
        share, words = self._climb.next(
            min(model.disk_bytes / most, 1.0), lambda one: self._chosen(ranks, round(one * most)).seconds
        )
        choice = self._with(ranks, round(share * most))
        if not self._climb.has_measured:
            return Decision(choice, _in_words(choice, ranks), ranks)
        return Decision(choice, f"{_in_words(model, ranks)}; {words}", ranks)

    def _with(self, ranks: Sequence[RankBatches], limit: int) -> Choice:
        """Return the choice with `limit` bytes on disk: batches there stay, unless another choice is faster."""
        stays, best = self._chosen(_staying(ranks), limit), self._chosen(ranks, limit)
        return best if best.seconds < (1 - GAIN_MIN) * stays.seconds else stays

    def _chosen(self, ranks: Sequence[RankBatches], limit: int) -> Choice:
        chosen = choose(ranks, DiskLimit(limit, is_fixed=True))
        places = [
            np.where((one.reading == NOT_WRITABLE) & (where == Source.ON_DISK), Source.COMPUTED, where).astype(np.int8)
            for one, where in zip(ranks, chosen.places, strict=True)
        ]
        return priced(ranks, places)


def _staying(ranks: Sequence[RankBatches]) -> list[RankBatches]:
    return [dataclasses.replace(one, stays=True) for one in ranks]


def _in_words(chosen: Choice, ranks: Sequence[RankBatches]) -> str:
    nbytes = sum(int(one.nbytes.sum()) for one in ranks)
    alone = priced(ranks, [np.zeros(len(one.nbytes), np.int8) for one in ranks])
    text = f"predicted {chosen.seconds:.3g} s, {alone.seconds:.3g} s if all were computed"
    if chosen.disk_bytes == 0:
        return f"{text}: reading is no faster than computing, or memory takes all"
    if chosen.disk_bytes == nbytes:
        return f"{text}: reading is faster than computing"
    return f"{text}: reading takes about as long as computing the rest"
