"""Servers: a file on one server that many ranks use, and a server that is slower than the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from swath.advice.runs.advice import SERVERS, Finding, Proposal, Question, Subject
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.trace.log import Stripes

SERVERS_ADVISED = 8
LARGE_FILE = 16 << 20
"""Smaller files gain little from several servers."""
SLOW = 3.0
"""A server is slow if a byte takes this many times as long there as on the median server."""
REQUESTS_MIN = 8
SERVERS_MIN = 3


def findings(question: Question) -> Iterator[Finding]:
    """Yield more servers for files on one, and name slow servers."""
    for one in worth_a_look(question):
        stripes = question.run.stripes.get(one.file)
        if stripes is not None and len(stripes.servers) == 1 and one.ranks > 1 and one.bytes >= LARGE_FILE:
            yield _more_servers(question, one, stripes)
    if not question.prices.is_elsewhere:
        for way in ("read", "write"):
            yield from _slow_server(question, way)


def _more_servers(question: Question, one: Accesses, stripes: Stripes) -> Finding:
    count = min(SERVERS_ADVISED, one.ranks)
    best = 1 - 1 / count
    return of_access(
        one,
        question.saved(
            question.seconds(one),
            best / 2,
            f"between nothing, if the server is not the limit, and 1 - 1/{count} of the seconds",
            low=0.0,
            high=best,
        ),
        Proposal(
            SERVERS,
            f"stripe the file over {count} servers",
            condition=f"{one.ranks:,} ranks use one server, number {stripes.servers[0]}",
            means=lines(question.run, "servers"),
            presumes=(f"the file system has {count} servers", "the one server is what the ranks wait for"),
        ),
        f"servers of {one.way}s",
    )


@dataclass
class _OfServer:
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

    def add(self, rank: int, seconds: float) -> None:
        """Add the seconds of a rank."""
        self.seconds[rank] = self.seconds.get(rank, 0.0) + seconds


def _servers(question: Question, way: str) -> dict[int, _OfServer]:
    """Return the requests of each server. A file on one server counts as a whole, if its requests are not known."""
    found: dict[int, _OfServer] = {}
    for one in question.run.accesses:
        stripes = question.run.stripes.get(one.file)
        if one.way != way or stripes is None or not one.bytes:
            continue
        if len(one.rows):
            _add_requests(question, one, stripes, found)
        elif len(stripes.servers) == 1 and one.slowest > 0:
            of = found.setdefault(stripes.servers[0], _OfServer())
            of.each.append(one.slowest / one.bytes * one.ranks)
            of.files[one.file] = None
            of.calls, of.bytes = of.calls + one.calls, of.bytes + one.bytes
            for rank, seconds in one.seconds.items():
                of.add(rank, seconds)
    return found


def _add_requests(question: Question, one: Accesses, stripes: Stripes, found: dict[int, _OfServer]) -> None:
    requests = question.run.log.requests
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
        of = found.setdefault(server, _OfServer())
        of.each.extend((seconds[mine] / length[mine]).tolist())
        of.files[one.file] = None
        of.calls, of.bytes = of.calls + int(mine.sum()), of.bytes + int(length[mine].sum())
        for each in np.unique(rank[mine]).tolist():
            of.add(each, float(seconds[mine & (rank == each)].sum()))


def _slow_server(question: Question, way: str) -> Iterator[Finding]:
    """Compare the seconds a byte of the servers."""
    of_servers = {server: of for server, of in _servers(question, way).items() if len(of.each) >= REQUESTS_MIN}
    rates = {server: float(np.median(of.each)) for server, of in of_servers.items()}
    if len(rates) < SERVERS_MIN:
        return
    usual = float(np.median(list(rates.values())))
    worst = max(rates, key=lambda server: rates[server])
    if usual <= 0 or rates[worst] < SLOW * usual:
        return
    of, part = of_servers[worst], 1 - usual / rates[worst]
    slower = f"its {way}s take {rates[worst] / usual:.1f} times as long a byte as on the median server"
    files = tuple(of.files)
    subject = Subject(
        files,
        (("", f"slow server of {way}s"),),
        f"{of.calls:,} {way}s on server {worst} alone, {len(files):,} files; {slower}",
        of.calls,
        of.bytes,
    )
    proposal = Proposal(
        SERVERS,
        f"server {worst} is slow",
        "the server is slower than the others for the same requests",
        lines(question.run, "slow server"),
        presumes=("it was slow for the whole run, not only busy with these files",),
    )
    yield Finding(subject, proposal, question.saved(of.seconds, part, slower, low=part / 2, high=part))
