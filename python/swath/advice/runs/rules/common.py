"""Parts that several rules share: findings of accesses, and words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import Estimate, Finding, Proposal, Question, Subject
from swath.advice.runs.observed import Accesses
from swath.base.units import in_bytes

LARGE_BYTES = 4 << 20
"""Requests of this size cost little more than their bytes."""


def of_access(one: Accesses, estimate: Estimate, proposal: Proposal, claim: str = "") -> Finding:
    """Return a finding on an access. `claim` is what it changes: by default the calls themselves."""
    rows = (int(one.rows.min()), int(one.rows.max())) if len(one.rows) else ()
    claims = ((one.file, claim or one.way),)
    kind = (one.layer, one.way)
    return Finding(Subject((one.file,), claims, described(one), one.calls, one.bytes, rows, kind), proposal, estimate)


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
