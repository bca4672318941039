"""The seconds in which a rank computes between its calls. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from swath.advice.runs.advice import Question
from swath.advice.runs.observed import Accesses, Rows


def of_slowest(question: Question, one: Accesses) -> Rows:
    """Return the requests of the rank with most seconds, in the order of time."""
    slowest = max(one.seconds, key=lambda rank: one.seconds[rank])
    rows: Rows = one.rows[question.run.log.requests.rank[one.rows] == slowest]
    return rows


def computing(question: Question, rows: Rows, *, before: bool) -> npt.NDArray[np.float64]:
    """Return the seconds without calls of their rank before, or after, each of some requests of one rank."""
    requests = question.run.log.requests
    everything = np.flatnonzero(requests.rank == requests.rank[rows[0]])
    everything = everything[np.argsort(requests.began[everything], kind="stable")]
    began = requests.began[everything]
    ended = np.maximum.accumulate(requests.ended[everything])
    gaps = np.maximum(began[1:] - ended[:-1], 0)
    around = np.concatenate([[0.0], gaps]) if before else np.concatenate([gaps, [0.0]])
    position = np.zeros(int(everything.max()) + 1, np.intp)
    position[everything] = np.arange(len(everything))
    found: npt.NDArray[np.float64] = around[position[rows]]
    return found
