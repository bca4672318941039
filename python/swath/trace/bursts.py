"""The I/O phases of a run: times with I/O, between times without. The functions are pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from swath.trace.log import Log

GAP_PART = 0.01
"""Two phases are separated by a gap of more than this part of the run."""
GAP_SECONDS_MIN = 1e-3


@dataclass(frozen=True)
class Phase:
    """A phase of I/O.

    Attributes:
        began: its begin, in seconds since the begin of the log.
        ended: its end, likewise.
        calls: the number of calls.
        seconds: the time of the calls of all ranks together.
        ranks: the number of ranks that made calls.
        read_bytes: the bytes that were read.
        written_bytes: the bytes that were written.
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
    """The phases of a run, as groups of its requests.

    Attributes:
        order: the requests in the order of their begins.
        first: for each phase, the index of its first request in this order.
        seconds: the length of each phase.
        ranks: the number of ranks that take part in each phase.
        busy: the seconds that these ranks spent in calls.
    """

    order: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    seconds: npt.NDArray[np.float64]
    ranks: npt.NDArray[np.intp]
    busy: npt.NDArray[np.float64]

    @property
    def busy_part(self) -> float:
        """Return the part of the phases' time that ranks spend in calls; 1 if phases take no time."""
        lasted = float((self.seconds * self.ranks).sum())
        return min(1.0, float(self.busy.sum()) / lasted) if lasted > 0 else 1.0


def busiest_layer(log: Log) -> str:
    """Return the layer whose recorded calls took longest; "" if there are no calls."""
    if not len(log.requests):
        return ""
    seconds = np.bincount(log.requests.kind, log.requests.seconds, minlength=len(log.kinds))
    layers = dict.fromkeys(kind.layer for kind in log.kinds)
    return max(layers, key=lambda layer: sum(seconds[i] for i, kind in enumerate(log.kinds) if kind.layer == layer))


def bursts(log: Log) -> Bursts:
    """Return the phases of a run. If calls of several layers are recorded, only those of the busiest layer count."""
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
