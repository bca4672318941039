"""Times of calls: how long ranks wait for each other, compute between calls, read again, and use a file together. Pure.

All need the begin and the end of each call; without them the numbers are 0, or NaN.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from swath.advice.runs.observed import Accesses, Rows
from swath.replay.byte_ranges import ByteRanges
from swath.trace.log import Log

JOINED = 0.1
"""Calls with less computing between them, as a part of a call, are one transfer."""


def rows_of(log: Log, one: Accesses, rank: int) -> Rows:
    """Return the requests of one rank."""
    rows: Rows = one.rows[log.requests.rank[one.rows] == rank]
    return rows


def skew(log: Log, one: Accesses) -> float:
    """Return the seconds that a rank would wait for the last one, on average: the sum over all phases."""
    rows = one.rows
    if not len(rows):
        return 0.0
    requests = log.requests
    began, rank = requests.began[rows], requests.rank[rows]
    ended = np.maximum.accumulate(requests.ended[rows])
    if one.phases < 2:
        cuts = np.zeros(0, np.intp)
    else:
        gaps = began[1:] - ended[:-1]
        cuts = np.sort(np.argsort(gaps)[-(one.phases - 1) :]) + 1
    waits = 0.0
    for phase in np.split(np.arange(len(rows)), cuts):
        first: dict[int, float] = {}
        for each, at in zip(rank[phase].tolist(), began[phase].tolist(), strict=True):
            first.setdefault(each, at)
        arrivals = np.array(list(first.values()))
        waits += float(arrivals.max() - arrivals.mean()) if len(arrivals) == one.ranks else 0.0
    return 0.0 if math.isnan(waits) else waits


def computing(log: Log, rows: Rows, *, before: bool) -> npt.NDArray[np.float64]:
    """Return the seconds without calls of their rank before, or after, each of some requests of one rank."""
    requests = log.requests
    everything = np.flatnonzero(requests.rank == requests.rank[rows[0]])
    everything = everything[np.argsort(requests.began[everything], kind="stable")]
    began = requests.began[everything]
    ended = np.maximum.accumulate(requests.ended[everything])
    gaps = np.maximum(began[1:] - ended[:-1], 0)
    around = np.concatenate([[0.0], gaps]) if before else np.concatenate([gaps, [0.0]])
    position = np.zeros(int(everything.max()) + 1, np.intp)
    position[everything] = np.arange(len(everything))
    found: npt.NDArray[np.float64] = around[position[rows]]
    return found


def computed_again(log: Log, read: Rows, written: Rows) -> float:
    """Return the seconds of computing what a rank wrote, as often as it read it.

    Args:
        log: the log.
        read: the rank's reads of a file.
        written: its writes to the file. What comes before the first of them is not only computing.
    """
    length = log.requests.length
    seconds = float(computing(log, written, before=True)[1:].sum())
    return seconds * float(length[read].sum()) / max(float(length[written[1:]].sum()), 1.0)


def overlap(log: Log, one: Accesses, rank: int, priced: float | None = None) -> float:
    """Return the seconds of a rank's calls that its computing could hide: it computes before reads, and after writes.

    Times in other calls of the same rank are no time to compute.

    Args:
        log: the log.
        one: the access.
        rank: the rank.
        priced: the seconds of all its calls on another store, where it computes as long as here; None for this store.
    """
    requests = log.requests
    rows = rows_of(log, one, rank)
    if not len(rows):
        return 0.0
    calls = requests.seconds[rows] if priced is None else np.full(len(rows), priced / len(rows))
    between = computing(log, rows, before=one.way == "read")
    joins = between < JOINED * calls
    first = np.flatnonzero(~(joins if one.way == "read" else np.concatenate([[False], joins[:-1]])))
    if not len(first):
        return 0.0
    burst = np.add.reduceat(calls, first)
    computed = np.maximum.reduceat(between, first)
    return float(np.minimum(burst, computed).sum())


def repeated(log: Log, one: Accesses, rank: int, *, of_bytes: bool = False) -> float:
    """Return the part of a rank's seconds in which it moves bytes that it has moved before.

    Args:
        log: the log.
        one: the access.
        rank: the rank.
        of_bytes: whether the part of its bytes is meant.
    """
    requests = log.requests
    rows = rows_of(log, one, rank)
    offset, length = requests.offset[rows], requests.length[rows]
    if not len(rows) or (offset < 0).any():
        return 0.0
    moved = ByteRanges()
    again = np.zeros(len(rows))
    for index, (begin, size) in enumerate(zip(offset.tolist(), length.tolist(), strict=True)):
        again[index] = moved.bytes + size
        moved.add(begin, begin + size)
        again[index] -= moved.bytes
    weight = length.astype(float) if of_bytes else requests.seconds[rows]
    return float((again / length * weight).sum() / weight.sum()) if weight.sum() > 0 else 0.0


def concurrency(log: Log, one: Accesses) -> float:
    """Return how many ranks are in these calls at the same time, on average while any is; NaN if it is not known."""
    began, seconds = log.requests.began[one.rows], log.requests.seconds[one.rows]
    if not len(one.rows) or not seconds.sum() > 0:
        return math.nan
    order = np.argsort(began, kind="stable")
    began, ended = began[order], np.maximum.accumulate((began + seconds)[order])
    waits = np.maximum(began[1:] - ended[:-1], 0)
    return float(seconds.sum() / (ended[-1] - began[0] - waits.sum()))
