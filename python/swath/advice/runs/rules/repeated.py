"""Caching: the same bytes are read again."""

from __future__ import annotations

from collections.abc import Iterator

from swath.advice.runs.advice import LOCAL, Finding, Proposal
from swath.advice.runs.estimate import Estimate, greatest
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.price_words import copy_words
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.base.units import in_bytes

PASSES_MIN = 1.5
"""The least number of times that each byte is read, on average."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield keeping bytes in memory, where a rank reads them again."""
    for one in worth_a_look(question, ways=("read",)):
        if one.passes < PASSES_MIN:
            continue
        held = one.rank_distinct / one.ranks
        yield of_access(
            question,
            one,
            _estimate(question, one),
            Proposal(
                LOCAL,
                "caching: keep in memory what is read again",
                condition=f"a rank reads its bytes {one.passes:.2f} times",
                means=lines(question.run, "cache", "read"),
                presumes=(f"each rank has {in_bytes(round(held))} of memory for them",),
            ),
            "repeated reads",
            (question.measure("rank_bytes", "rank-bytes", "read", one.file),),
        )


def _estimate(question: Question, one: Accesses) -> Estimate:
    """Return the estimate: reads of bytes that were read before become copies in memory."""
    seconds, uncertainty = question.seconds(one), question.uncertainty
    rank = max(one.seconds, key=lambda rank: one.seconds[rank])
    again = seconds.slowest * question.measure("repeated", "repeated", one.way, one.file, f"rank={rank}")
    copy = question.price("price_of_copy", copy_words(one.bytes / one.ranks * (1 - 1 / one.passes)))
    likely = greatest(again - copy, 0)
    return Estimate(seconds, again / uncertainty - copy * uncertainty, likely, again)
