"""Servers: a file on one server that many ranks use, and a server that is slower than the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.run_advice.advice import SERVERS, Finding, Proposal, Question
from swath.run_advice.means import lines
from swath.run_advice.observed import Accesses
from swath.run_advice.rules.common import of_access, worth_a_look
from swath.trace.log import Stripes

SERVERS_ADVISED = 8
LARGE_FILE = 16 << 20
"""Smaller files gain little from several servers."""
SLOW = 3.0
"""A server is slow if a byte takes this many times as long there as on the median server."""
REQUESTS_MIN = 8


def findings(question: Question) -> Iterator[Finding]:
    """Yield more servers for files on one, and name slow servers."""
    for one in worth_a_look(question):
        stripes = question.run.stripes.get(one.file)
        if stripes is None:
            continue
        servers = len(stripes.servers)
        if servers == 1 and one.ranks > 1 and one.bytes >= LARGE_FILE:
            yield _more_servers(question, one, stripes)
        if servers > 1 and len(one.rows):
            yield from _slow_server(question, one, stripes)


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


def _slow_server(question: Question, one: Accesses, stripes: Stripes) -> Iterator[Finding]:
    """Compare the seconds a byte of requests that lie on one server each."""
    requests = question.run.log.requests
    offset, length, seconds = (getattr(requests, name)[one.rows] for name in ("offset", "length", "seconds"))
    first, last = offset // stripes.bytes, (offset + length - 1) // stripes.bytes
    inside = (first == last) & (offset >= 0)
    place = first[inside] % len(stripes.servers)
    each = seconds[inside] / length[inside]
    rates = {
        server: float(np.median(each[place == index]))
        for index, server in enumerate(stripes.servers)
        if (place == index).sum() >= REQUESTS_MIN
    }
    if len(rates) < 3:
        return
    usual = float(np.median(list(rates.values())))
    worst = max(rates, key=lambda server: rates[server])
    if usual <= 0 or rates[worst] < SLOW * usual:
        return
    mine = np.zeros(len(one.rows), bool)
    mine[np.flatnonzero(inside)[place == stripes.servers.index(worst)]] = True
    ranks = requests.rank[one.rows]
    spent = {int(rank): float(seconds[mine & (ranks == rank)].sum()) for rank in np.unique(ranks[mine])}
    part = 1 - usual / rates[worst]
    yield of_access(
        one,
        question.saved(
            spent,
            part,
            f"its requests take {rates[worst] / usual:.1f} times as long a byte as on the median server",
            low=part / 2,
            high=part,
        ),
        Proposal(
            SERVERS,
            f"server {worst} is slow",
            condition=f"{int(mine.sum()):,} requests lie on server {worst} alone",
            means=lines(question.run, "slow server"),
            presumes=("it was slow for the whole run, not only busy with this file",),
        ),
        f"slow server of {one.way}s",
    )
