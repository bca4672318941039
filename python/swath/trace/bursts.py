"""Times with I/O, between times without: the phases of a run. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from swath.trace.log import Log

GAP_PART = 0.01
"""Phases are apart by more than this part of the run."""
GAP_SECONDS_MIN = 1e-3


@dataclass(frozen=True)
class Phase:
    """A time in which I/O goes on.

    Attributes:
        began: seconds since the begin of the log.
        ended: likewise.
        calls: how many were made.
        seconds: that they took, of all ranks together.
        ranks: how many made calls.
        read_bytes: that were read.
        written_bytes: that were written.
    """

    began: float
    ended: float
    calls: int
    seconds: float
    ranks: int
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True)
class Bursts:
    """Where the phases begin among the requests.

    Attributes:
        order: of the requests, by their begins.
        first: of each phase, the place in this order.
        seconds: from the begin of each phase to its end.
        ranks: how many ranks take part in each.
        busy: seconds that these ranks were in calls.
    """

    order: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    seconds: npt.NDArray[np.float64]
    ranks: npt.NDArray[np.intp]
    busy: npt.NDArray[np.float64]

    @property
    def busy_part(self) -> float:
        """Return the part of the phases' time that ranks are in calls; 1 of phases that take no time."""
        lasted = float((self.seconds * self.ranks).sum())
        return min(1.0, float(self.busy.sum()) / lasted) if lasted > 0 else 1.0


def busiest_layer(log: Log) -> str:
    """Return the layer whose recorded calls took longest; "" where there are none."""
    if not len(log.requests):
        return ""
    seconds = np.bincount(log.requests.kind, log.requests.seconds, minlength=len(log.kinds))
    layers = dict.fromkeys(kind.layer for kind in log.kinds)
    return max(layers, key=lambda layer: sum(seconds[i] for i, kind in enumerate(log.kinds) if kind.layer == layer))


def bursts(log: Log) -> Bursts:
    """Return where the phases of a run begin. Of calls in several layers those of the busiest count."""
    requests = log.requests
    busiest = busiest_layer(log)
    kinds = [index for index, kind in enumerate(log.kinds) if kind.layer == busiest]
    rows = np.flatnonzero(np.isin(requests.kind, kinds))
    order = rows[np.argsort(requests.began[rows], kind="stable")]
    began, ended = requests.began[order], np.maximum.accumulate(requests.ended[order])
    gap = max(GAP_SECONDS_MIN, GAP_PART * _lasted(log))
    first = np.flatnonzero(np.concatenate([np.ones(min(len(order), 1), bool), began[1:] - ended[:-1] > gap]))
    last = np.append(first[1:], len(order)) - 1
    phase = np.repeat(np.arange(len(first)), last - first + 1)
    pairs = np.unique(phase * (int(requests.rank.max(initial=0)) + 2) + requests.rank[order] + 1)
    ranks: npt.NDArray[np.intp] = np.bincount(pairs // (int(requests.rank.max(initial=0)) + 2), minlength=len(first))
    busy = np.bincount(phase, requests.seconds[order], minlength=len(first)).astype(np.float64)
    return Bursts(order, first, ended[last] - began[first] if len(first) else np.zeros(0), ranks, busy)


def _lasted(log: Log) -> float:
    if log.execution_seconds > 0 and log.ranks:
        return log.execution_seconds / log.ranks
    return float(log.requests.ended.max() - log.requests.began.min()) if len(log.requests) else 0.0


def phases_of(log: Log) -> list[Phase]:
    """Return the phases of a run, in their order."""
    found = bursts(log)
    if not len(found.first):
        return []
    requests = log.requests
    began = requests.began[found.order[found.first]]
    moved = []
    for direction in ("read", "write"):
        is_so = np.isin(requests.kind[found.order], log.kinds_where(direction))
        moved.append(np.add.reduceat(np.where(is_so, requests.length[found.order], 0), found.first))
    calls = np.diff(np.append(found.first, len(found.order)))
    columns = (began, began + found.seconds, calls, found.busy, found.ranks, *moved)
    return [Phase(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
