"""Calls that move no bytes: those of one name, and those on small files. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from swath.advice.runs.observed import Metadata, Observed

SMALL_FILE = 1 << 20
"""A file of which fewer bytes are moved is small."""


def seconds_of_calls(run: Observed, one: Metadata, name: str, rank: int) -> npt.NDArray[np.float64]:
    """Return the seconds of each call of a rank; nothing if the log has counters only.

    Args:
        run: the run.
        one: the calls on a file.
        name: the name of the calls: "open", "sync", ….
        rank: the rank.
    """
    log, requests = run.log, run.log.requests
    kinds = [index for index, kind in enumerate(log.kinds) if kind.name == name and one.layer in ("", kind.layer)]
    mine = (requests.file == log.files.index(one.file)) & (requests.rank == rank) & np.isin(requests.kind, kinds)
    found: npt.NDArray[np.float64] = requests.seconds[mine]
    return found


def small_files(run: Observed) -> list[Metadata]:
    """Return the calls on small files, without those that wait for something else than the store."""
    moved = bytes_of_files(run)
    return [one for one in run.metadata if moved.get(one.file, 0) < SMALL_FILE and not one.waits]


def bytes_of_files(run: Observed) -> dict[str, int]:
    """Return the bytes that are moved of each file."""
    moved: dict[str, int] = {}
    for access in run.accesses:
        moved[access.file] = moved.get(access.file, 0) + access.bytes
    return moved


def seconds_of_ranks(of: list[Metadata]) -> dict[int, float]:
    """Return the seconds of each rank in all these calls."""
    seconds: dict[int, float] = {}
    for one in of:
        for of_name in one.seconds.values():
            for rank, spent in of_name.items():
                seconds[rank] = seconds.get(rank, 0.0) + spent
    return seconds
