"""Parts that several rules share: findings of accesses, and words. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from swath.advice.runs.advice import Finding, Proposal, Subject
from swath.advice.runs.estimate import Estimate, Formula
from swath.advice.runs.observed import Accesses
from swath.advice.runs.question import Question
from swath.base.units import in_bytes

LARGE_BYTES = 4 << 20
"""Requests of this size cost little more than their bytes."""


FACTS = {
    "ranks": "ranks",
    "runs": "runs",
    "run_bytes": "run-bytes",
    "space_runs": "regions",
    "gap": "gap",
    "passes": "passes",
    "phases": "phases",
    "distinct": "distinct",
    "span": "span",
}
"""The numbers of an access that words mention, by their attributes, with their measures."""


def of_access(
    question: Question,
    one: Accesses,
    estimate: Estimate,
    proposal: Proposal,
    claim: str = "",
    facts: tuple[Formula, ...] = (),
) -> Finding:
    """Return a finding on an access.

    Args:
        question: the question of the run.
        one: the access.
        estimate: the seconds.
        proposal: the change.
        claim: what it changes: by default the calls themselves.
        facts: numbers that its words mention, besides those of every access.
    """
    rows = (int(one.rows.min()), int(one.rows.max())) if len(one.rows) else ()
    subject = Subject(
        (one.file,),
        ((one.file, claim or one.way),),
        described(one),
        question.measure("calls_now", "calls", one.way, one.file),
        question.measure("bytes_now", "bytes", one.way, one.file),
        rows,
        (one.layer, one.way),
        (*facts_of(question, one), *facts),
    )
    return Finding(subject, proposal, estimate)


def facts_of(question: Question, one: Accesses) -> tuple[Formula, ...]:
    """Return the numbers of an access that words mention, as far as the log tells them."""
    known = [
        question.measure(name.replace("-", "_"), name, one.way, one.file)
        for attribute, name in FACTS.items()
        if not math.isnan(getattr(one, attribute)) and getattr(one, attribute) >= 0
    ]
    calls, moved = (question.measure(f"{what}_now", what, one.way, one.file) for what in ("calls", "bytes"))
    return (*known, calls, (moved / calls).named("bytes_of_a_call"))


def described(one: Accesses) -> str:
    """Return an access in words."""
    by = f" by {one.ranks:,} ranks" if one.ranks > 1 else " by one rank"
    pieces = f"{one.calls:,} {one.way}s of {in_bytes(round(one.request_bytes))} on average{by} ({one.layer})"
    if one.runs >= 1:
        pieces += f"; {one.runs:,.0f} contiguous regions a rank, {in_bytes(round(one.run_bytes))} each"
    if one.gap >= 1:
        pieces += f", {in_bytes(round(one.gap))} between them"
    return pieces + (f"; {one.distribution}" if one.distribution else "")


def worth_a_look(question: Question, *, ways: tuple[str, ...] = ("read", "write")) -> Iterator[Accesses]:
    """Return accesses of programs' own calls with seconds, or of any seconds if they are priced."""
    for one in question.run.accesses:
        if one.way in ways and (question.prices.is_elsewhere or one.slowest > 0):
            yield one
