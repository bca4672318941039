"""Data sieving: one rank reads many small regions of a file that lie close to each other."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import LOCAL, Finding, Proposal
from swath.advice.runs.estimate import Formula
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import LARGE_BYTES, of_access, worth_a_look

DENSITY_MIN = 0.02
"""The least part of the span that is read: with less, a window has too much that nobody needs."""
RUNS_MIN = 16


def findings(question: Question) -> Iterator[Finding]:
    """Yield sieving for reads of small regions with gaps between them."""
    for one in worth_a_look(question, ways=("read",)):
        if not one.runs >= RUNS_MIN or not one.run_bytes < LARGE_BYTES or not one.distinct > 0:
            continue
        if one.layer == "swath" or one.is_collective or one.distinct < DENSITY_MIN * one.span or one.gap < 1:
            continue
        part = one.distinct / one.span
        now = question.now(one)
        after = Pattern("read", now.ranks, now.regions, now.size, now.gap, method="sieve", times=now.times)
        yield of_access(
            question,
            one,
            question.compared(one, after),
            Proposal(
                LOCAL,
                "data sieving: read a window, and pick from it",
                condition=f"{one.runs:,.0f} regions are {part:.0%} of the {one.span:,} bytes around them",
                means=lines(question.run, "sieve", "read"),
                presumes=("the regions are known before the first of them is needed",),
                guideline=2,
            ),
            facts=(_density(question, one),),
        )


def _density(question: Question, one: Accesses) -> Formula:
    distinct, span = (question.measure(name, name, one.way, one.file) for name in ("distinct", "span"))
    return (distinct / span).named("density")
