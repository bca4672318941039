"""Aggregators: how many ranks move the bytes of collective calls for all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from swath.advice.runs.advice import SERVERS, Finding, Proposal
from swath.advice.runs.aggregation import aggregators
from swath.advice.runs.estimate import Estimate
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.replay.changes import Aggregators


def findings(question: Question) -> Iterator[Finding]:
    """Yield another number of aggregators, where the log tells the number, and another one surely costs less."""
    run = question.run
    if run.processes < 2 or not run.has_mpi:
        return
    for one in worth_a_look(question):
        number = aggregators(run.log, one) if one.ranks > 1 else 0
        if not number:
            continue
        now = _pattern(one, number)
        best = min(_others(question, one, now), key=lambda other: question.price("price_then", other.words).number)
        before, then = question.price("price_now", now.words), question.price("price_then", best.words)
        seconds, uncertainty = question.seconds(one), question.uncertainty
        ratio = (then / before).named("ratio")
        if ratio.number * uncertainty.number > 1:
            continue
        slowest = seconds.slowest
        means = lines(run, "aggregators", by_mpi_io=one.layer == "mpi-io")
        yield of_access(
            question,
            one,
            Estimate(
                seconds, slowest * (1 - ratio * uncertainty), slowest * (1 - ratio), slowest * (1 - ratio / uncertainty)
            ),
            Proposal(
                SERVERS,
                "another number of aggregators",
                condition=f"{number:,} of {one.ranks:,} ranks {one.way} for all; {best.aggregators:,} would cost less",
                means={name: line.replace("NUMBER", str(best.aggregators)) for name, line in means.items()},
                change=Aggregators(aggregators=best.aggregators, file=one.file) if one.layer == "swath" else None,
                presumes=("collective calls move what lies together in the file, an equal part for each rank",),
            ),
            f"aggregators of {one.way}s",
            (question.measure("aggregators_now", "aggregators", one.way, one.file),),
        )


def _pattern(one: Accesses, number: int) -> Pattern:
    """Return collective calls of all ranks. What a rank moves in a call is taken to be contiguous."""
    times = max(1, round(one.calls / one.ranks))
    size = max(1, round(one.bytes / times / one.ranks))
    return Pattern(one.way, one.ranks, size=size, method="two-phase", times=times, aggregators=number)


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
