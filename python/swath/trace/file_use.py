"""The use of each file in a run: ranks, order, repeated bytes, and distribution. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from swath.trace.distributions import distribution_of
from swath.trace.intervals import runs_of
from swath.trace.log import Log

LOOKED_INTO_MAX = 200
"""The number of files whose requests are analysed: those with most bytes."""
Rows = npt.NDArray[np.void]


@dataclass(frozen=True)
class Accesses:
    """The requests on a file in one direction.

    Attributes:
        interleaved: the part of neighbouring requests in the file that different ranks made; NaN if it is not known.
        distinct_bytes: the number of different bytes; all further bytes were moved again.
        distribution: the distribution over ranks, in words; "" if none is recognised.
    """

    interleaved: float
    distinct_bytes: int
    distribution: str


@dataclass(frozen=True)
class FileUse:
    """The use of a file by a layer.

    Attributes:
        file: the name of the file.
        layer: the interface that was called.
        ranks: the number of ranks that used it.
        reads: the number of reads.
        writes: the number of writes.
        read_bytes: the bytes of the reads.
        written_bytes: the bytes of the writes.
        read_seconds: the time of the reads, of all ranks together.
        write_seconds: the time of the writes, of all ranks together.
        metadata_seconds: the time of all other calls.
        slowest_read_seconds: the time of the reads of the rank with most of it; of counters of all ranks, the mean.
        slowest_write_seconds: the same of the writes.
        sequential: the part of reads and writes that lie behind the previous one of the rank; NaN if it is not known.
        consecutive: the part that begins right behind the previous one.
        accesses: the accesses by direction, "read" and "write", if requests are known.
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
    slowest_read_seconds: float
    slowest_write_seconds: float
    sequential: float
    consecutive: float
    accesses: dict[str, Accesses]


def file_uses(log: Log, totals: Rows) -> Iterator[FileUse]:
    """Return the use of each file by each layer; files with most bytes come first."""
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
    """Return the requests of each file and layer whose offsets are known."""
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
        _slowest(log, sums["read"]),
        _slowest(log, sums["write"]),
        sequential,
        consecutive,
        accesses,
    )


def _slowest(log: Log, of: Rows) -> float:
    """Return the seconds of the rank with most of them. Those of all ranks together are spread evenly."""
    seconds = np.nan_to_num(of["seconds"])
    is_one = of["rank"] >= 0
    own = np.bincount(of["rank"][is_one], seconds[is_one], minlength=1)
    return float(own.max() + seconds[~is_one].sum() / max(log.ranks, 1))


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
