"""Balance: one rank has more to read or write than the others, which wait for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import BALANCE, Finding, Proposal, Subject
from swath.advice.runs.estimate import Estimate, Formula, RankSeconds, greatest, least, total
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.question import Question
from swath.advice.runs.rank_shares import bytes_of_ranks, independent, summed

IMBALANCE_MIN = 1.25
"""The least ratio of the largest number of bytes of a rank to the mean."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield equal shares, where the ranks that take part move different numbers of bytes."""
    run = question.run
    for way in ("read", "write"):
        of = independent(run, way)
        seconds = summed(run, [question.seconds(one).numbers for one in of])
        moved = bytes_of_ranks(run, of)
        busy = moved > 0
        if run.processes < 2 or busy.sum() < 2 or not moved.any():
            continue
        most, mean = float(moved.max()), float(moved.sum() / run.processes)
        worst = int(seconds.argmax())
        imbalance = float(seconds[worst] / seconds.mean()) if seconds.mean() > 0 else 1.0
        if most / mean < IMBALANCE_MIN or imbalance < IMBALANCE_MIN:
            continue
        slowest, mean_seconds = _of_rank(question, way, of, worst), _mean(question, way, of)
        by_bytes = _bytes(question, way, worst).named("times_the_bytes")
        by_seconds = (slowest / mean_seconds).named("times_the_seconds")
        subject = Subject(
            tuple(one.file for one in of),
            (("", f"balance of {way}s"),),
            f"rank {worst} {way}s {by_bytes.number:.2f} times the mean of {run.processes:,} ranks, and takes "
            f"{by_seconds.number:.2f} times as long",
            question.measure("calls_now", "calls", way),
            question.measure("bytes_now", "bytes", way),
            _rows(of),
            facts=(by_bytes, by_seconds, question.measure("processes", "processes")),
        )
        proposal = Proposal(
            BALANCE,
            f"balanced {way}s: the same bytes for each rank",
            "the other ranks wait for the one with most bytes",
            lines(run, "balance"),
            presumes=("the parts can be dealt to ranks in another way", "ranks meet after their calls"),
        )
        yield Finding(subject, proposal, _estimate(question, way, of, seconds))


def _estimate(question: Question, way: str, of: list[Accesses], seconds: np.ndarray) -> Estimate:
    """Return the estimate: the rank with most seconds gets the mean. By bytes, its seconds shrink as its bytes do."""
    worst = int(seconds.argmax())
    slowest, mean = _of_rank(question, way, of, worst), _mean(question, way, of)
    by_seconds = slowest - mean
    times = _bytes(question, way, worst)
    by_bytes = slowest * (1 - 1 / times) if times.number > 0 else by_seconds
    of_ranks = RankSeconds(dict(enumerate(seconds.tolist())), lambda rank: _of_rank(question, way, of, rank))
    return Estimate(of_ranks, least(by_seconds, by_bytes), by_seconds, greatest(by_seconds, by_bytes))


def _bytes(question: Question, way: str, rank: int) -> Formula:
    """Return the bytes of a rank, divided by the mean."""
    of_rank = question.measure("bytes_of_rank", "bytes", way, f"rank={rank}")
    return of_rank / question.measure("mean_bytes", "bytes", way, "mean")


def _of_rank(question: Question, way: str, of: list[Accesses], rank: int) -> Formula:
    """Return the seconds of a rank, without what earlier advice saves."""
    now = question.measure("seconds_of_rank", "seconds", way, f"rank={rank}")
    changed = [one for one in of if (one.file, way) in question.left]
    if not changed:
        return now
    saved = [
        question.seconds_now(one, each) * (1 - question.left[one.file, way])
        for one in changed
        for each in one.seconds
        if each % question.run.processes == rank
    ]
    return (now - total(saved)).named("remaining")


def _mean(question: Question, way: str, of: list[Accesses]) -> Formula:
    """Return the mean of all ranks, likewise."""
    now = question.measure("mean_seconds", "seconds", way, "mean")
    changed = [one for one in of if (one.file, way) in question.left]
    if not changed:
        return now
    saved = [
        question.measure("mean_of_file", "seconds", way, one.file, "mean") * (1 - question.left[one.file, way])
        for one in changed
    ]
    return (now - total(saved)).named("remaining_mean")


def _rows(of: list[Accesses]) -> tuple[int, ...]:
    rows = [int(row) for one in of if len(one.rows) for row in (one.rows.min(), one.rows.max())]
    return (min(rows), max(rows)) if rows else ()
