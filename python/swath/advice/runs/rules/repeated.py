"""Caching: the same bytes are read again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import LOCAL, Finding, Proposal, Question
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses
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
        again = one.bytes / one.ranks * (1 - 1 / one.passes)
        seconds = question.seconds(one)
        slowest = max(seconds.values(), default=0.0)
        copies = min(1.0, question.prices.copy(again) / slowest) if slowest > 0 else 1.0
        part = max(0.0, (1 - 1 / one.passes) * (1 - copies))
        yield of_access(
            one,
            question.saved(
                seconds,
                part,
                f"each byte is read {one.passes:.2f} times: the first time remains, and copies in memory",
                low=part / 2,
                high=1 - 1 / one.passes,
            ),
            Proposal(
                LOCAL,
                "caching: keep in memory what is read again",
                condition=f"a rank reads its bytes {one.passes:.2f} times",
                means=lines(question.run, "cache", "read"),
                change=Cache(file=one.file, bytes=memory),
                presumes=(f"each rank has {in_bytes(memory)} of memory for what it reads of a file",),
            ),
            "repeated reads",
        )


def _most_bytes(question: Question, one: Accesses) -> int:
    """Return the different bytes that the rank with most of them reads."""
    requests = question.run.log.requests
    offset, length, rank = (getattr(requests, name)[one.rows] for name in ("offset", "length", "rank"))
    return max(runs_of(offset[rank == of], length[rank == of]).bytes for of in np.unique(rank))
