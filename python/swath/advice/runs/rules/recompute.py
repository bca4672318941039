"""Balanced I/O: a program computes data, writes them, and reads them many times. Some of them are computed again.

Source: Kandaswamy et al. 2002, section 3.5, and 4.4 on SCF 3.0. A part of the data is read, while the other part is
computed; the parts are such that both take equally long.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.advice.runs.advice import BALANCE, Finding, Proposal, Question
from swath.advice.runs.means import lines
from swath.advice.runs.observed import Accesses, Rows
from swath.advice.runs.rules.common import of_access, worth_a_look
from swath.advice.runs.rules.computing import computing, of_slowest
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
        if question.adapts(one, RECOMPUTE) or not len(one.rows):
            continue
        requests = question.run.log.requests
        read = of_slowest(question, one)
        written = _written(question, one, int(requests.rank[read[0]]))
        bytes_written = int(requests.length[written].sum())
        if len(written) < WRITES_MIN or not _is_computed(question, written, read):
            continue
        passes = int(requests.length[read].sum()) / bytes_written
        seconds = question.seconds(one)
        slowest = max(seconds.values())
        if passes < PASSES_MIN or slowest <= 0:
            continue
        reading = slowest / question.left.get((one.file, one.way), 1.0)
        again = passes * _computing_seconds(question, written)
        part = reading / (reading + again)
        words = (
            f"{slowest:.4g} s × {reading:.4g} s / ({reading:.4g} s + {again:.4g} s): all reads take {reading:.4g} s, "
            f"computing everything {passes:.1f} times {again:.4g} s, and both at the same time end together"
        )
        yield of_access(
            one,
            question.saved(seconds, part, words, low=part / 2, high=min(1.0, part * question.uncertainty)),
            Proposal(
                BALANCE,
                "balanced I/O: compute some of the data again while the others are read",
                f"a rank computes and writes the data once, and reads them {passes:.1f} times",
                lines(question.run, "recompute"),
                presumes=(
                    "the data can be computed again, in parts and in any order",
                    "the seconds between two writes are those of computing",
                ),
            ),
            "repeated reads",
        )


def _written(question: Question, one: Accesses, rank: int) -> Rows:
    """Return the writes of a rank to the file of an access, in the order of time."""
    requests = question.run.log.requests
    for other in question.run.accesses:
        if other.file == one.file and other.way == "write" and len(other.rows):
            found: Rows = other.rows[requests.rank[other.rows] == rank]
            return found
    return np.zeros(0, np.intp)


def _is_computed(question: Question, written: Rows, read: Rows) -> bool:
    """Return whether all writes come before the reads, and the rank reads hardly anything between the writes."""
    log, requests = question.run.log, question.run.log.requests
    began, ended = float(requests.began[written[0]]), float(requests.ended[written].max())
    if float(requests.began[read].min()) < ended:
        return False
    reads = np.isin(requests.kind, log.kinds_where("read")) & (requests.rank == requests.rank[written[0]])
    between = reads & (requests.began >= began) & (requests.began < ended)
    return bool(requests.length[between].sum() <= READ_PART * requests.length[written].sum())


def _computing_seconds(question: Question, written: Rows) -> float:
    """Return the seconds of computing all that is written. What comes before the first write is not only computing."""
    length = question.run.log.requests.length[written]
    seconds = computing(question, written, before=True)
    return float(seconds[1:].sum() * length.sum() / max(length[1:].sum(), 1))
