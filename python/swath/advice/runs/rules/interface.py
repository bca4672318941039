"""The interface: many small calls for bytes that follow each other."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import INTERFACE, Finding, Proposal
from swath.advice.runs.estimate import Formula
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.pattern import Pattern
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import LARGE_BYTES, of_access, worth_a_look
from swath.replay.changes import Merge

SMALL_BYTES = 256 << 10
"""Calls of this size and more are no small calls."""
CALLS_MIN = 2.0
"""The least number of calls for each contiguous region."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield one call for many, where calls fill contiguous regions of the file, in their order or not."""
    for one in worth_a_look(question):
        if one.layer == "swath" or one.is_collective or one.request_bytes >= SMALL_BYTES or not one.space_runs >= 1:
            continue
        of_region = one.calls / (one.space_runs * one.ranks * one.passes)
        if of_region < CALLS_MIN:
            continue
        now = question.now(one)
        regions = max(1, round(one.space_runs))
        size = max(1, round(one.bytes / one.passes / one.ranks / regions))
        calls = max(1, -(-size // LARGE_BYTES))
        after = Pattern(now.way, now.ranks, regions, size, now.gap, calls, "direct", now.times)
        in_order = "follow each other in the file" if one.calls_of_run >= CALLS_MIN else "are out of order in a region"
        proposal = Proposal(
            INTERFACE,
            "one large call instead of many small ones",
            f"{of_region:,.0f} calls {in_order}, {one.request_bytes:,.0f} bytes each",
            lines(question.run, "merge", one.way),
            Merge(file=one.file, bytes=LARGE_BYTES),
            ("the program can hold 4 MiB of it in memory",),
            3,
        )
        yield of_access(
            question, one, question.compared(one, after), proposal, facts=(_calls_of_a_region(question, one),)
        )


def _calls_of_a_region(question: Question, one: Accesses) -> Formula:
    calls, regions, ranks, passes = (
        question.measure(name.replace("calls", "calls_now"), name, one.way, one.file)
        for name in ("calls", "regions", "ranks", "passes")
    )
    return (calls / (regions * ranks * passes)).named("calls_of_a_region")
