"""The use of each server of striped files. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from swath.advice.runs.observed import Accesses, Observed
from swath.trace.log import Stripes

REQUESTS_MIN = 8
"""Servers with fewer requests are not compared."""


@dataclass
class ServerUse:
    """The requests of one way that lie on one server alone.

    Attributes:
        each: the seconds a byte of each request; of counters, the mean of a file.
        seconds: their seconds, by rank.
        calls: how many they are.
        bytes: their bytes.
        files: their files.
    """

    each: list[float] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)
    calls: int = 0
    bytes: int = 0
    files: dict[str, None] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Return the seconds a byte of the median request."""
        return float(np.median(self.each))

    def add(self, rank: int, seconds: float) -> None:
        """Add the seconds of a rank."""
        self.seconds[rank] = self.seconds.get(rank, 0.0) + seconds


def servers_used(run: Observed, way: str) -> dict[int, ServerUse]:
    """Return the use of each server with enough requests.

    A file on one server counts as a whole, if its requests are not known.
    """
    found: dict[int, ServerUse] = {}
    for one in run.accesses:
        stripes = run.stripes.get(one.file)
        if one.way != way or stripes is None or not one.bytes:
            continue
        if len(one.rows):
            _add_requests(run, one, stripes, found)
        elif len(stripes.servers) == 1 and one.slowest > 0:
            of = found.setdefault(stripes.servers[0], ServerUse())
            of.each.append(one.slowest / one.bytes * one.ranks)
            of.files[one.file] = None
            of.calls, of.bytes = of.calls + one.calls, of.bytes + one.bytes
            for rank, seconds in one.seconds.items():
                of.add(rank, seconds)
    return {server: of for server, of in found.items() if len(of.each) >= REQUESTS_MIN}


def _add_requests(run: Observed, one: Accesses, stripes: Stripes, found: dict[int, ServerUse]) -> None:
    requests = run.log.requests
    offset, length, seconds, rank = (
        getattr(requests, name)[one.rows] for name in ("offset", "length", "seconds", "rank")
    )
    first, last = offset // stripes.bytes, (offset + length - 1) // stripes.bytes
    inside = (first == last) & (offset >= 0)
    server_index = first % len(stripes.servers)
    for index, server in enumerate(stripes.servers):
        mine = inside & (server_index == index)
        if not mine.any():
            continue
        of = found.setdefault(server, ServerUse())
        of.each.extend((seconds[mine] / length[mine]).tolist())
        of.files[one.file] = None
        of.calls, of.bytes = of.calls + int(mine.sum()), of.bytes + int(length[mine].sum())
        for each in np.unique(rank[mine]).tolist():
            of.add(each, float(seconds[mine & (rank == each)].sum()))
