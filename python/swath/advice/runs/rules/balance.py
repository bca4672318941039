"""Balance: one rank has more to read or write than the others, which wait for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import BALANCE, Finding, Proposal, Question, Subject
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses

IMBALANCE_MIN = 1.25
"""The least ratio of the largest number of bytes of a rank to the mean."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield equal shares, where the ranks that take part move different numbers of bytes."""
    run = question.run
    for way in ("read", "write"):
        of = [one for one in run.accesses if one.way == way and not one.is_collective and one.seconds]
        seconds, moved = _by_rank(question, of)
        busy = moved > 0
        if run.processes < 2 or busy.sum() < 2 or not moved.any():
            continue
        most, mean = float(moved.max()), float(moved.sum() / run.processes)
        worst = int(seconds.argmax())
        imbalance = float(seconds[worst] / seconds.mean()) if seconds.mean() > 0 else 1.0
        if most / mean < IMBALANCE_MIN or imbalance < IMBALANCE_MIN:
            continue
        part = 1 - 1 / imbalance
        subject = Subject(
            tuple(one.file for one in of),
            (("", f"balance of {way}s"),),
            f"rank {worst} {way}s {most / mean:.2f} times the mean of {run.processes:,} ranks, and takes "
            f"{imbalance:.2f} times as long",
            sum(one.calls for one in of),
            sum(one.bytes for one in of),
            _rows(of),
        )
        proposal = Proposal(
            BALANCE,
            f"balanced {way}s: the same bytes for each rank",
            "the other ranks wait for the one with most bytes",
            lines(run, "balance"),
            presumes=("the parts can be dealt to ranks in another way", "ranks meet after their calls"),
        )
        words = f"{seconds[worst]:.4g} s of rank {worst} become the mean of all ranks, {seconds.mean():.4g} s"
        of_ranks = {rank: float(seconds[rank]) for rank in range(run.processes)}
        yield Finding(subject, proposal, question.saved(of_ranks, part, words, low=part / 2, high=part))


def _by_rank(question: Question, of: list[Accesses]) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds and the bytes of each rank. Calls that are counted for all ranks together count as equal."""
    run = question.run
    seconds, moved = np.zeros(run.processes), np.zeros(run.processes)
    for one in of:
        for rank, spent in question.seconds(one).items():
            seconds[rank % run.processes] += spent
        if len(one.rows):
            requests = run.log.requests
            np.add.at(moved, requests.rank[one.rows] % run.processes, requests.length[one.rows])
        else:
            for rank in one.seconds:
                moved[rank % run.processes] += one.bytes / len(one.seconds)
    return seconds, moved


def _rows(of: list[Accesses]) -> tuple[int, ...]:
    rows = [int(row) for one in of if len(one.rows) for row in (one.rows.min(), one.rows.max())]
    return (min(rows), max(rows)) if rows else ()
