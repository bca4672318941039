"""Prefetching and writing behind: a rank computes between calls, and could do both at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import LOCAL, Finding, Proposal, Question
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.advice.runs.rules.computing import computing, of_slowest
from swath.base.adaptive import PREFETCH, WRITE_BEHIND
from swath.replay.changes import Prefetch, WriteBehind

CALLS_MIN = 4
IN_ORDER = 0.8
"""The least part of the reads that lie behind the one before: others cannot be foreseen."""
JOINED = 0.1
"""Calls with less computing between them, as a part of a call, are one transfer."""
OVERLAP = 0.8
"""The part of the smaller one of two overlapped times that is saved; the rest is lost to copies and to the start."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield reads ahead and writes behind, where the rank with most seconds computes between its calls."""
    for one in worth_a_look(question):
        if not _may_overlap(one) or _is_overlapped(question, one):
            continue
        hidden = _hidden(question, one)
        left = question.left.get((one.file, one.way), 1.0)
        if hidden <= 0 or (one.way == "read" and not _is_in_order(question, one)):
            continue
        slowest = max(question.seconds(one).values()) / left
        part = OVERLAP * min(1.0, hidden / slowest / left)
        reads = one.way == "read"
        yield of_access(
            one,
            question.saved(
                question.seconds(one),
                part,
                f"the smaller one of each call's seconds and of the seconds without calls "
                f"{'before' if reads else 'after'} it: {hidden:.4g} s, of which {OVERLAP:.0%} can be hidden",
                low=part / 2,
                high=min(1.0, part / OVERLAP),
            ),
            Proposal(
                LOCAL,
                "prefetch: read the next part while the program computes"
                if reads
                else "write behind, while the program computes",
                condition=f"the rank computes between its {one.way}s, which lie in the order of the file"
                if reads
                else "the rank computes after its writes",
                means=lines(question.run, "prefetch" if reads else "write-behind", one.way),
                change=Prefetch(file=one.file) if reads else WriteBehind(file=one.file),
                presumes=(
                    "a core, or the store's own processor, is free for it",
                    f"memory for two {one.way}s",
                ),
            ),
            f"overlapped {one.way}s",
        )


def overlap_of_the_run(question: Question) -> None:
    """Take off what a run hides already, where calls are priced: Swath moves bytes while the program computes."""
    if not question.prices.is_elsewhere:
        return
    for one in question.run.accesses:
        slowest = max(question.seconds(one).values(), default=0.0)
        if slowest > 0 and _may_overlap(one) and _is_overlapped(question, one):
            hidden = OVERLAP * min(1.0, _hidden(question, one) / slowest)
            question.left[one.file, one.way] = 1 - hidden


def _may_overlap(one: Accesses) -> bool:
    return one.calls >= CALLS_MIN and len(one.rows) > 0


def _is_overlapped(question: Question, one: Accesses) -> bool:
    return question.adapts(one, PREFETCH if one.way == "read" else WRITE_BEHIND)


def _hidden(question: Question, one: Accesses) -> float:
    """Return the seconds of calls of the slowest rank beside which it could compute: it computes before or after them.

    Times in other calls of the same rank are no time to compute.
    """
    rows = of_slowest(question, one)
    if len(rows) < CALLS_MIN:
        return 0.0
    calls = question.run.log.requests.seconds[rows]
    if question.prices.is_elsewhere:  # what a rank computes does not depend on the store
        calls = np.full(len(rows), max(question.seconds(one).values()) / len(rows))
    beside = computing(question, rows, before=one.way == "read")
    # Calls without computing between them are moved together.
    joins = beside < JOINED * calls
    first = np.flatnonzero(~(joins if one.way == "read" else np.concatenate([[False], joins[:-1]])))
    if not len(first):
        return 0.0
    burst = np.add.reduceat(calls, first)
    computed = np.maximum.reduceat(beside, first)
    return float(np.minimum(burst, computed).sum())


def _is_in_order(question: Question, one: Accesses) -> bool:
    rows = of_slowest(question, one)
    requests = question.run.log.requests
    offset = requests.offset[rows]
    if (offset < 0).any():  # operations of Swath: the program says what it reads next
        return one.layer == "swath"
    ends = offset + requests.length[rows]
    return bool((offset[1:] >= ends[:-1]).mean() >= IN_ORDER)
