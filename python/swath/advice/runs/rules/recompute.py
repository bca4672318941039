"""Balanced I/O: a program computes data, writes them, and reads them many times. Some of them are computed again.

Source: Kandaswamy et al. 2002, section 3.5, and 4.4 on SCF 3.0. A part of the data is read, while the other part is
computed; the parts are such that both take equally long.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import BALANCE, Finding, Proposal
from swath.advice.runs.estimate import Estimate
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses, Rows
from swath.advice.runs.question import Question
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.advice.runs.timing import rows_of
from swath.base.adaptive import RECOMPUTE

PASSES_MIN = 3.0
"""The least number of times that the data are read."""
WRITES_MIN = 4
"""With fewer writes it is not known how long a part of the data is computed."""
READ_PART = 0.05
"""The data are computed from other files if more than this part of them is read while they are written."""


def findings(question: Question) -> Iterator[Finding]:
    """Yield computing again a part of the data, where the slowest rank computed and wrote them before it read them."""
    for one in worth_a_look(question, ways=("read",)):
        written = question.by_file.get((one.file, "write"))
        if written is None or question.adapts(one, RECOMPUTE):
            continue
        log = question.run.log
        rank = one.slowest_rank
        reads, writes = (rows_of(log, access, rank) for access in (one, written))
        if len(writes) < WRITES_MIN or not len(reads) or not _is_computed(question, writes, reads):
            continue
        # Offsets tell it exactly; operations of Swath have none.
        passes = (
            one.passes
            if one.rank_distinct > 0
            else int(log.requests.length[reads].sum()) / int(log.requests.length[writes].sum())
        )
        if passes < PASSES_MIN:
            continue
        yield of_access(
            question,
            one,
            _estimate(question, one, rank),
            Proposal(
                BALANCE,
                "balanced I/O: compute some of the data again while the others are read",
                "a rank computes and writes the data once, and reads them many times",
                lines(question.run, "recompute"),
                presumes=(
                    "the data can be computed again, in parts and in any order",
                    "the seconds between two writes are those of computing",
                ),
            ),
            "repeated reads",
        )


def _estimate(question: Question, one: Accesses, rank: int) -> Estimate:
    """Return the estimate: some data are read while the others are computed, and both end at the same time."""
    seconds, uncertainty = question.seconds(one), question.uncertainty
    reading = question.seconds_now(one, rank)
    again = question.measure("computed_again", "computed-again", one.file, f"rank={rank}")
    low, likely, high = (
        seconds.slowest * (reading / (reading + computing))
        for computing in (again * uncertainty, again, again / uncertainty)
    )
    return Estimate(seconds, low, likely, high)


def _is_computed(question: Question, written: Rows, read: Rows) -> bool:
    """Return whether all writes come before the reads, and the rank reads hardly anything between the writes."""
    log, requests = question.run.log, question.run.log.requests
    began, ended = float(requests.began[written[0]]), float(requests.ended[written].max())
    if float(requests.began[read].min()) < ended:
        return False
    reads = np.isin(requests.kind, log.kinds_where("read")) & (requests.rank == requests.rank[written[0]])
    between = reads & (requests.began >= began) & (requests.began < ended)
    return bool(requests.length[between].sum() <= READ_PART * requests.length[written].sum())
