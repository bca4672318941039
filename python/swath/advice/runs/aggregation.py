"""How many ranks move the bytes of collective calls for all ranks: their aggregators. Pure."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from swath.advice.runs.observed import Accesses
from swath.trace.log import Log
from swath.trace.totals import all_totals

ASKED = re.compile(r"^tuning\[aggregators\]=(\d+)$", re.MULTILINE)
"""The number of aggregators in the words of an operation of Swath; without it, the plan chooses the number."""


def aggregators(log: Log, one: Accesses) -> int:
    """Return the number; 0 if the calls are not collective, or the log does not tell."""
    if one.layer == "swath":
        return _asked(log, one)
    return _below(log, one) if one.is_collective else 0


def _asked(log: Log, one: Accesses) -> int:
    """Return the number that most operations of Swath were given; 0 if their plans have chosen it."""
    keys = log.requests.operation[one.rows]
    found = (ASKED.search(log.operations[key]) if key >= 0 else None for key in keys.tolist())
    numbers = Counter(0 if number is None else int(number[1]) for number in found)
    return min(numbers.most_common(1)[0][0], one.ranks) if numbers else 0


def _below(log: Log, one: Accesses) -> int:
    """Return how many ranks make the calls on the file system that the MPI library makes for collective calls.

    If all of them do, they may be aggregators, or each moves its own bytes, as the library does where these lie apart.
    The log does not tell which, so the result is 0.
    """
    kinds, file = log.kinds_where(one.way, "posix"), log.files.index(one.file)
    requests = log.requests
    rows = np.isin(requests.kind, kinds) & (requests.file == file) & (requests.length > 0)
    if rows.any():
        return _some(len(np.unique(requests.rank[rows])), one)
    totals = all_totals(log)
    of = totals[np.isin(totals["kind"], kinds) & (totals["file"] == file) & (totals["calls"] > 0)]
    return 0 if (of["rank"] < 0).any() else _some(len(np.unique(of["rank"])), one)


def _some(ranks: int, one: Accesses) -> int:
    return ranks if ranks < one.ranks else 0
