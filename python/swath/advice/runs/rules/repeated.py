"""Caching: the same bytes are read again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import LOCAL, Finding, Proposal
from swath.advice.runs.estimate import Estimate, greatest
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
from swath.advice.runs.price_words import copy_words
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.base.units import in_bytes
from swath.replay.changes import Cache
from swath.trace.intervals import runs_of

PASSES_MIN = 1.5
"""The least number of times that each byte is read, on average."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield keeping bytes in memory, where a rank reads them again."""
    repeated = [one for one in worth_a_look(question, ways=("read",)) if one.passes >= PASSES_MIN]
    memory = max((_most_bytes(question, one) for one in repeated), default=0)  # advice on several files is one change
    for one in repeated:
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
                change=Cache(file=one.file, bytes=memory),
                presumes=(f"each rank has {in_bytes(round(held))} of memory for them",),
            ),
            "repeated reads",
            (question.measure("rank_bytes", "rank-bytes", "read", one.file),),
        )


def _estimate(question: Question, one: Accesses) -> Estimate:
    """Return the estimate: reads of bytes that were read before become copies in memory."""
    seconds, uncertainty = question.seconds(one), question.uncertainty
    rank = one.slowest_rank
    again = seconds.slowest * question.measure("repeated", "repeated", one.way, one.file, f"rank={rank}")
    copy = question.price("price_of_copy", copy_words(one.bytes / one.ranks * (1 - 1 / one.passes)))
    likely = greatest(again - copy, 0)
    return Estimate(seconds, again / uncertainty - copy * uncertainty, likely, again)


def _most_bytes(question: Question, one: Accesses) -> int:
    """Return the different bytes that the rank with most of them reads."""
    requests = question.run.log.requests
    offset, length, rank = (getattr(requests, name)[one.rows] for name in ("offset", "length", "rank"))
    return max(runs_of(offset[rank == of], length[rank == of]).bytes for of in np.unique(rank))
