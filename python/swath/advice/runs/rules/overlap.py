"""Prefetching and writing behind: a rank computes between calls, and could do both at once."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import LOCAL, Finding, Proposal
from swath.advice.runs.estimate import Estimate, greatest, least
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.price_words import copy_words
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.advice.runs.timing import rows_of
from swath.replay.changes import Prefetch, WriteBehind

CALLS_MIN = 4
IN_ORDER = 0.8
"""The least part of the reads that lie behind the one before: others cannot be foreseen."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield reads ahead and writes behind, where the rank with most seconds computes between its calls."""
    for one in worth_a_look(question):
        if one.calls < CALLS_MIN or not len(one.rows) or question.is_overlapped(one):
            continue
        rank = one.slowest_rank
        reads = one.way == "read"
        if len(rows_of(question.run.log, one, rank)) < CALLS_MIN or (reads and not _is_in_order(question, one, rank)):
            continue
        yield of_access(
            question,
            one,
            _estimate(question, one, rank),
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


def _estimate(question: Question, one: Accesses, rank: int) -> Estimate:
    """Return the estimate: what a rank computes beside its calls hides them, but the bytes are copied once more."""
    seconds, uncertainty = question.seconds(one), question.uncertainty
    hidden = least(seconds.slowest, question.measure("overlap", "overlap", one.way, one.file, f"rank={rank}"))
    copy = question.price("price_of_copy", copy_words(one.bytes / one.ranks))
    likely = greatest(hidden - copy, 0)
    return Estimate(seconds, hidden / uncertainty - copy * uncertainty, likely, hidden)


def _is_in_order(question: Question, one: Accesses, rank: int) -> bool:
    requests = question.run.log.requests
    rows = rows_of(question.run.log, one, rank)
    offset = requests.offset[rows]
    if (offset < 0).any():  # operations of Swath: the program says what it reads next
        return one.layer == "swath"
    ends = offset + requests.length[rows]
    return bool((offset[1:] >= ends[:-1]).mean() >= IN_ORDER)
