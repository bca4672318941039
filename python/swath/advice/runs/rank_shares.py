"""The shares of the ranks in all reads, or all writes, that are not collective. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from swath.advice.runs.observed import Accesses, Observed

Shares = npt.NDArray[np.float64]


def independent(run: Observed, way: str) -> list[Accesses]:
    """Return the accesses whose calls are not collective."""
    return [one for one in run.accesses if one.way == way and not one.is_collective and one.seconds]


def bytes_of_ranks(run: Observed, of: list[Accesses]) -> Shares:
    """Return the bytes of each rank. Calls that are counted for all ranks together count as equal."""
    moved = np.zeros(run.processes)
    for one in of:
        if len(one.rows):
            requests = run.log.requests
            np.add.at(moved, requests.rank[one.rows] % run.processes, requests.length[one.rows])
        else:
            for rank in one.seconds:
                moved[rank % run.processes] += one.bytes / len(one.seconds)
    return moved


def summed(run: Observed, seconds: list[dict[int, float]]) -> Shares:
    """Return the sums of seconds by rank."""
    found = np.zeros(run.processes)
    for one in seconds:
        for rank, spent in one.items():
            found[rank % run.processes] += spent
    return found
