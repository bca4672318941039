"""Aggregators: how many ranks move the bytes of collective calls for all ranks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from swath.advice.runs.advice import SERVERS, Finding, Proposal, Question
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.replay.changes import Aggregators
from swath.trace.totals import all_totals

ASKED = re.compile(r"^tuning\[aggregators\]=(\d+)$", re.MULTILINE)
"""The number of aggregators in the words of an operation of Swath; without it, the plan chooses the number."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield another number of aggregators, where the log tells the number, and another one surely costs less."""
    run = question.run
    if run.processes < 2 or not run.has_mpi:
        return
    for one in worth_a_look(question):
        number = _aggregators(question, one)
        if not number or one.ranks < 2:
            continue
        now = _pattern(one, number)
        best = min(_others(question, one, now), key=question.prices.seconds)
        before, then = question.prices.seconds(now), question.prices.seconds(best)
        part, uncertainty = 1 - then / before, question.uncertainty
        if then * uncertainty > before:
            continue
        estimate = question.saved(
            question.seconds(one),
            part,
            f'1 - {then:.4g} s / {before:.4g} s of the seconds: {then:.4g} s is the price of "{best.words}", '
            f'{before:.4g} s of "{now.words}"',
            low=1 - then / before * uncertainty,
            high=1 - then / before / uncertainty,
        )
        price = f"swath advise{question.prices.command} --price"
        commands = (f'{price} "{best.words}"', f'{price} "{now.words}"', *estimate.commands)
        means = lines(run, "aggregators", by_mpi_io=one.layer == "mpi-io")
        yield of_access(
            one,
            replace(estimate, commands=commands),
            Proposal(
                SERVERS,
                "another number of aggregators",
                condition=f"{number:,} of {one.ranks:,} ranks {one.way} for all; {best.aggregators:,} would cost less",
                means={name: line.replace("NUMBER", str(best.aggregators)) for name, line in means.items()},
                change=Aggregators(aggregators=best.aggregators, file=one.file) if one.layer == "swath" else None,
                presumes=("collective calls move what lies together in the file, an equal part for each rank",),
            ),
            f"aggregators of {one.way}s",
        )


def _pattern(one: Accesses, aggregators: int) -> Pattern:
    """Return collective calls of all ranks. What a rank moves in a call is taken to be contiguous."""
    times = max(1, round(one.calls / one.ranks))
    size = max(1, round(one.bytes / times / one.ranks))
    return Pattern(one.way, one.ranks, size=size, method="two-phase", times=times, aggregators=aggregators)


def _others(question: Question, one: Accesses, now: Pattern) -> Iterator[Pattern]:
    """Yield the pattern with other numbers of aggregators: powers of two, all ranks, and the servers of the file."""
    numbers = {2**power for power in range(one.ranks.bit_length())} | {one.ranks}
    stripes = question.run.stripes.get(one.file)
    if stripes is not None:
        numbers.add(len(stripes.servers))
    return (
        replace(now, aggregators=number)
        for number in sorted(numbers)
        if number != now.aggregators and number <= one.ranks
    )


def _aggregators(question: Question, one: Accesses) -> int:
    """Return how many ranks move bytes for all; 0 if the calls are not collective, or the log does not tell."""
    if one.layer == "swath":
        return _asked(question, one)
    return _below(question, one) if one.is_collective else 0


def _asked(question: Question, one: Accesses) -> int:
    """Return the number that most operations of Swath were given; 0 if their plans have chosen it."""
    log = question.run.log
    keys = log.requests.operation[one.rows]
    found = (ASKED.search(log.operations[key]) if key >= 0 else None for key in keys.tolist())
    numbers = Counter(0 if number is None else int(number[1]) for number in found)
    return min(numbers.most_common(1)[0][0], one.ranks) if numbers else 0


def _below(question: Question, one: Accesses) -> int:
    """Return how many ranks make the calls on the file system that the MPI library makes for collective calls."""
    log = question.run.log
    kinds, file = log.kinds_where(one.way, "posix"), log.files.index(one.file)
    requests = log.requests
    rows = np.isin(requests.kind, kinds) & (requests.file == file) & (requests.length > 0)
    if rows.any():
        return len(np.unique(requests.rank[rows]))
    totals = all_totals(log)
    of = totals[np.isin(totals["kind"], kinds) & (totals["file"] == file) & (totals["calls"] > 0)]
    return 0 if (of["rank"] < 0).any() else len(np.unique(of["rank"]))
