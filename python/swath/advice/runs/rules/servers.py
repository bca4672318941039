"""Servers: a file on one server that many ranks use, and a server that is slower than the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import SERVERS, Finding, Proposal, Subject
from swath.advice.runs.estimate import Estimate, Formula, Literal, RankSeconds, least, stated
from swath.advice.runs.means import lines
from swath.advice.runs.measures import servers
from swath.advice.runs.observed import Accesses
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.trace.log import Stripes

SERVERS_ADVISED = 8
LARGE_FILE = 16 << 20
"""Smaller files gain little from several servers."""
SLOW = 3.0
"""A server is slow if a byte takes this many times as long there as on the median server."""
HALF = 0.5
"""The likely part of the most that more servers save, if the log has no times of single calls."""
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
    return of_access(
        question,
        one,
        _of_servers(question, one, count),
        Proposal(
            SERVERS,
            f"stripe the file over {count} servers",
            condition=f"{one.ranks:,} ranks use one server, number {stripes.servers[0]}",
            means=lines(question.run, "servers"),
            presumes=(f"the file system has {count} servers", "the one server is what the ranks wait for"),
        ),
        f"servers of {one.way}s",
    )


def _of_servers(question: Question, one: Accesses, count: int) -> Estimate:
    """Return the estimate: as many servers as ranks are in calls at once share the work of the one.

    If the one server is not the limit, nothing is saved. Counters do not tell how many ranks use it at once.
    """
    seconds, concurrency = question.seconds(one), question.measure("concurrency", "concurrency", one.way, one.file)
    servers_then = stated(count, "servers", f"one for each rank, but not more than {SERVERS_ADVISED}")
    most = seconds.slowest * (1 - 1 / servers_then)
    if np.isnan(concurrency.number):
        half = stated(HALF, "half", "counters do not tell how many ranks use the server at once")
        return Estimate(seconds, Literal(0), most * half, most)
    likely = seconds.slowest * (1 - 1 / least(concurrency, servers_then))
    return Estimate(seconds, Literal(0), likely, most)


def _slow_server(question: Question, way: str) -> Iterator[Finding]:
    """Compare the seconds a byte of the servers."""
    of_servers = servers(question, way)
    rates = {server: of.rate for server, of in of_servers.items()}
    if len(rates) < SERVERS_MIN:
        return
    usual = float(np.median(list(rates.values())))
    worst = max(rates, key=lambda server: rates[server])
    if usual <= 0 or rates[worst] < SLOW * usual:
        return
    of = of_servers[worst]
    slower = f"its {way}s take {rates[worst] / usual:.1f} times as long a byte as on the median server"
    files, server = tuple(of.files), f"server={worst}"
    subject = Subject(
        files,
        (("", f"slow server of {way}s"),),
        f"{of.calls:,} {way}s on server {worst} alone, {len(files):,} files; {slower}",
        question.measure("calls_now", "server-calls", way, server),
        question.measure("bytes_now", "server-bytes", way, server),
        facts=(question.measure("files", "server-files", way, server), _slower(question, way, server)),
    )
    proposal = Proposal(
        SERVERS,
        f"server {worst} is slow",
        "the server is slower than the others for the same requests",
        lines(question.run, "slow server"),
        presumes=("it was slow for the whole run, not only busy with these files",),
    )
    seconds = RankSeconds(
        of.seconds,
        lambda rank: question.measure("seconds_now", "server-seconds", way, server, f"rank={rank}"),
    )
    yield Finding(subject, proposal, _as_others(question, way, server, seconds))


def _slower(question: Question, way: str, server: str) -> Formula:
    rate = question.measure("rate", "server-rate", way, server)
    return (rate / question.measure("median_rate", "server-rate", way, "median")).named("slower")


def _as_others(question: Question, way: str, server: str, seconds: RankSeconds) -> Estimate:
    """Return the estimate: a byte takes as long as on the median server, or as on the slowest or fastest other one."""
    rate = question.measure("rate", "server-rate", way, server)

    def saved(which: str) -> Formula:
        return seconds.slowest * (1 - question.measure(f"{which}_rate", "server-rate", way, which) / rate)

    return Estimate(seconds, saved("second"), saved("median"), saved("least"))
