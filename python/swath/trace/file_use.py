"""How a run used each file: by whom, in which order, how often the same bytes, by which distribution. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from swath.trace.distributions import distribution_of
from swath.trace.intervals import runs_of
from swath.trace.log import Log

LOOKED_INTO_MAX = 200
"""Of how many files, those with most bytes, the requests are looked into."""
Rows = npt.NDArray[np.void]


@dataclass(frozen=True)
class Accesses:
    """What requests in one direction did with a file.

    Attributes:
        interleaved: of requests next to each other in the file, the part that different ranks made; NaN where unknown.
        distinct_bytes: that were touched at all. The others were touched again.
        distribution: which bytes belong to which rank, in words; "" where nothing is recognised.
    """

    interleaved: float
    distinct_bytes: int
    distribution: str


@dataclass(frozen=True)
class FileUse:
    """How a layer used a file.

    Attributes:
        file: its name.
        layer: who was called.
        ranks: how many ranks used it.
        reads: calls that read.
        writes: calls that wrote.
        read_bytes: by these.
        written_bytes: by these.
        read_seconds: of all ranks together.
        write_seconds: of all ranks together.
        metadata_seconds: of all other calls.
        sequential: the part of reads and writes that lie behind the one before (of the rank); NaN where not known.
        consecutive: the part right behind it.
        accesses: by direction, "read" and "write", where requests are known.
    """

    file: str
    layer: str
    ranks: int
    reads: int
    writes: int
    read_bytes: int
    written_bytes: int
    read_seconds: float
    write_seconds: float
    metadata_seconds: float
    sequential: float
    consecutive: float
    accesses: dict[str, Accesses]


def file_uses(log: Log, totals: Rows) -> Iterator[FileUse]:
    """Return how each layer used each file, those with most bytes first."""
    layers = list(dict.fromkeys(kind.layer for kind in log.kinds))
    if not len(totals):
        return
    layer_of = np.array([layers.index(kind.layer) for kind in log.kinds], np.int64)
    key = (totals["file"].astype(np.int64) + 1) * len(layers) + layer_of[totals["kind"]]
    order = np.argsort(key, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
    groups.sort(key=lambda rows: -int(totals["bytes"][rows].sum()))
    requests = _requests_of_files(log)
    for number, rows in enumerate(groups):
        of = totals[rows]
        file, layer = int(of["file"][0]), log.kinds[int(of["kind"][0])].layer
        mine = requests.get((file, layer)) if number < LOOKED_INTO_MAX and file >= 0 else None
        yield _file_use(log, of, {} if mine is None else _accesses(log, mine))


def _requests_of_files(log: Log) -> dict[tuple[int, str], npt.NDArray[np.intp]]:
    """Return the requests of each file and layer whose places in the file are known."""
    requests = log.requests
    if not len(requests):
        return {}
    moves = np.array([kind.direction != "" for kind in log.kinds], bool)
    rows = np.flatnonzero(moves[requests.kind] & (requests.offset >= 0) & (requests.length > 0))
    if not len(rows):
        return {}
    layers = list(dict.fromkeys(kind.layer for kind in log.kinds))
    layer_of = np.array([layers.index(kind.layer) for kind in log.kinds], np.int64)
    key = (requests.file[rows].astype(np.int64) + 1) * len(layers) + layer_of[requests.kind[rows]]
    order = np.argsort(key, kind="stable")
    groups = np.split(rows[order], np.flatnonzero(np.diff(key[order])) + 1)
    return {(int(requests.file[of[0]]), layers[int(layer_of[requests.kind[of[0]]])]): of for of in groups}


def _file_use(log: Log, of: Rows, accesses: dict[str, Accesses]) -> FileUse:
    direction = np.array([log.kinds[kind].direction for kind in of["kind"]])
    sums = {way: of[direction == way] for way in ("read", "write", "")}
    moved = of[direction != ""]
    ranks = of["rank"]
    calls = int(moved["calls"].sum())
    sequential, consecutive = (
        float(moved[name].sum()) / calls if calls and (moved[name] >= 0).all() else float("nan")
        for name in ("sequential", "consecutive")
    )
    return FileUse(
        log.files[int(of["file"][0])] if of["file"][0] >= 0 else "(not known)",
        log.kinds[int(of["kind"][0])].layer,
        log.ranks if (ranks < 0).any() else len(np.unique(ranks)),
        int(sums["read"]["calls"].sum()),
        int(sums["write"]["calls"].sum()),
        int(sums["read"]["bytes"].sum()),
        int(sums["write"]["bytes"].sum()),
        float(np.nansum(sums["read"]["seconds"])),
        float(np.nansum(sums["write"]["seconds"])),
        float(np.nansum(sums[""]["seconds"])),
        sequential,
        consecutive,
        accesses,
    )


def _accesses(log: Log, rows: npt.NDArray[np.intp]) -> dict[str, Accesses]:
    found = {}
    for way in ("read", "write"):
        of = rows[np.isin(log.requests.kind[rows], log.kinds_where(way))]
        if len(of):
            found[way] = _accesses_of(log, of)
    return found


def _accesses_of(log: Log, rows: npt.NDArray[np.intp]) -> Accesses:
    rank, offset, length = (getattr(log.requests, name)[rows] for name in ("rank", "offset", "length"))
    by_place = np.argsort(offset, kind="stable")
    neighbours = rank[by_place]
    differ = float((neighbours[1:] != neighbours[:-1]).mean()) if len(rows) > 1 else float("nan")
    named = distribution_of(rank, offset, length) if log.complete else None
    return Accesses(differ, runs_of(offset, length).bytes, "" if named is None else named.words)
