"""The facts of a run on which advice is based, from its log: accesses of each file, opens, syncs. Pure."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from swath.trace.bursts import GAP_PART, GAP_SECONDS_MIN
from swath.trace.distributions import distribution_of
from swath.trace.intervals import runs_of
from swath.trace.log import Log, Stripes
from swath.trace.totals import all_totals

LAYERS = ("swath", "mpi-io", "posix", "stdio")
"""The layers that advice is about, the highest first: of each file, the highest one that moved its bytes."""
BELOW = ("posix", "stdio")
"""The layers below Swath."""
WAITS_SECONDS = 1.0
"""Calls without bytes that take longer on average wait for something else than the store."""
COLLECTIVE = 0.5
"""The least part of the calls that ranks make together, for an access to be collective."""
LOOKED_INTO_MAX = 200
"""The number of accesses whose requests are analysed: those with most seconds."""
Rows = npt.NDArray[np.intp]


@dataclass
class Accesses:
    """All reads, or all writes, of one file through one layer.

    Attributes:
        file: the name of the file.
        layer: the layer.
        way: "read" or "write".
        calls: the calls of all ranks.
        bytes: the bytes of all ranks.
        seconds: the seconds of each rank; ranks without calls are left out.
        ranks: the number of ranks that made calls.
        consecutive: the part of the calls that begin right behind the previous one; NaN if it is not known.
        is_collective: whether the calls are collective.
        rows: the requests in the log, in the order of time; empty if there are only counters.
        runs: runs of calls of a rank that follow each other in time and in the file, in one pass; NaN if not known.
        run_bytes: the bytes of such a run, on average; NaN if not known.
        space_runs: contiguous regions of the file that a rank moved, in whatever order, on average; NaN if not known.
        gap: the bytes between neighbouring runs of all ranks that nobody moved, on average.
        distinct: the different bytes that were moved; -1 if not known.
        rank_distinct: the same, summed over ranks.
        known_bytes: the bytes of the calls in `rows`; a log may lack some.
        span: the bytes from the first to the last moved byte; -1 if not known.
        phases: the number of phases.
        distribution: the distribution over ranks, in words; "" if it is not recognised.
    """

    file: str
    layer: str
    way: str
    calls: int
    bytes: int
    seconds: dict[int, float]
    ranks: int
    consecutive: float
    is_collective: bool = False
    rows: Rows = field(default_factory=lambda: np.zeros(0, np.intp))
    runs: float = math.nan
    run_bytes: float = math.nan
    space_runs: float = math.nan
    gap: float = 0.0
    distinct: int = -1
    rank_distinct: int = -1
    known_bytes: int = 0
    span: int = -1
    phases: int = 1
    distribution: str = ""

    @property
    def slowest(self) -> float:
        """Return the seconds of the rank that spent most."""
        return max(self.seconds.values(), default=0.0)

    @property
    def slowest_rank(self) -> int:
        """Return the rank that spent most; -1 if none spent any."""
        return max(self.seconds, key=lambda rank: self.seconds[rank], default=-1)

    @property
    def request_bytes(self) -> float:
        """Return the mean size of a call."""
        return self.bytes / self.calls if self.calls else 0.0

    @property
    def calls_of_run(self) -> float:
        """Return the number of calls for each contiguous run."""
        runs = self.runs * self.ranks * self.passes
        return max(1.0, self.calls / runs) if runs >= 1 else 1.0

    @property
    def passes(self) -> float:
        """Return how often each byte was moved by its rank, on average."""
        return max(1.0, self.known_bytes / self.rank_distinct) if self.rank_distinct > 0 else 1.0


@dataclass
class Metadata:
    """The calls on a file that move no bytes.

    Attributes:
        file: the name of the file.
        calls: the calls of each name: "open", "sync", …; "metadata" for those that were counted together.
        seconds: for each name, the seconds of each rank.
        ranks: the number of ranks.
        written_bytes: the bytes that were written to the file.
        layer: the layer of the calls; "" for those of all layers.
    """

    file: str
    calls: dict[str, int]
    seconds: dict[str, dict[int, float]]
    ranks: int
    written_bytes: int = 0
    layer: str = ""

    @property
    def waits(self) -> bool:
        """Return whether the calls wait for something else, as an open of a pipe does for its other end."""
        spent = sum(sum(of_name.values()) for of_name in self.seconds.values())
        return spent > WAITS_SECONDS * max(1, sum(self.calls.values()))


@dataclass
class Observed:
    """The facts of a run.

    Attributes:
        log: the log.
        seconds: the seconds of the run, from its begin to its end.
        has_mpi: whether the processes are ranks of MPI.
        accesses: the accesses; those with most seconds come first.
        metadata: calls that move no bytes, file by file.
        stripes: the striping of files, by their names.
        only_counters: whether the log has no request with its offset.
    """

    log: Log
    seconds: float
    has_mpi: bool
    accesses: list[Accesses]
    metadata: list[Metadata]
    stripes: dict[str, Stripes]
    only_counters: bool

    @property
    def processes(self) -> int:
        """Return the number of processes."""
        return max(self.log.ranks, 1)

    @property
    def io_seconds(self) -> float:
        """Return the seconds that the rank with most of them spent in calls, without those that wait."""
        of_rank = np.zeros(self.processes)
        parts = [one.seconds for one in self.accesses]
        parts += [seconds for one in self.metadata if not one.waits for seconds in one.seconds.values()]
        for part in parts:
            for rank, seconds in part.items():
                of_rank[rank % self.processes] += seconds
        return float(of_rank.max())


def observed(log: Log) -> Observed:
    """Return the facts of a run."""
    totals = _advised(log, all_totals(log))
    layer_of_file = _layers(log, totals)
    accesses = sorted(_accesses(log, totals, layer_of_file), key=lambda one: (-one.slowest, -one.bytes, one.file))
    of_file = _rows_of_files(log)
    for one in accesses[:LOOKED_INTO_MAX]:
        _look_into(log, one, of_file)
    metadata = list(_metadata(log, totals, layer_of_file))
    return Observed(
        log,
        log.execution_seconds / max(log.ranks, 1),
        log.has_mpi or any(kind.layer == "mpi-io" for kind in log.kinds),
        accesses,
        metadata,
        {log.files[index]: stripes for index, stripes in log.stripes.items()},
        not any(len(one.rows) for one in accesses),
    )


def _advised(log: Log, totals: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return the sums without file calls on files that Swath serves: they belong to operations, which have plans."""
    kinds = [index for index, kind in enumerate(log.kinds) if kind.layer in BELOW]
    served = _served(log)
    files = [index for index, name in enumerate(log.files) if _final_name(name) in served]
    found: npt.NDArray[np.void] = totals[~(np.isin(totals["kind"], kinds) & np.isin(totals["file"], files))]
    return found


def _served(log: Log) -> set[str]:
    """Return the paths of the files with arrays of Swath. With several ranks, the log names arrays by more than it."""
    requests = log.requests
    kinds = [*log.kinds_where("read", "swath"), *log.kinds_where("write", "swath")]
    found: set[str] = set()
    for index in np.unique(requests.file[np.isin(requests.kind, kinds)]).tolist():
        path = log.files[index].partition(" (")[0] if index >= 0 else ""
        found.update((path, path.rpartition(":")[0]))
    return found - {""}


def _final_name(path: str) -> str:
    """Return the name of a file that Swath makes when it is complete: until then, it has a hidden one."""
    folder, name = os.path.split(path)
    hidden = re.fullmatch(r"\.(.+)\.swath-[0-9a-f]+", name)
    return path if hidden is None else os.path.join(folder, hidden[1])


def _layers(log: Log, totals: npt.NDArray[np.void]) -> dict[int, str]:
    """Return for each file the highest layer that moved bytes of it."""
    found: dict[int, str] = {}
    for layer in reversed(LAYERS):
        kinds = [*log.kinds_where("read", layer), *log.kinds_where("write", layer)]
        of = totals[np.isin(totals["kind"], kinds) & (totals["calls"] > 0)] if len(totals) else totals
        found.update(dict.fromkeys(of["file"].tolist() if len(of) else [], layer))
    return found


def _seconds_of_ranks(log: Log, of: npt.NDArray[np.void]) -> dict[int, float]:
    """Return the seconds of each rank. Those of all ranks together are taken to be spread evenly."""
    found: dict[int, float] = {}
    for rank, seconds in zip(of["rank"].tolist(), np.nan_to_num(of["seconds"]).tolist(), strict=True):
        if rank >= 0:
            found[rank] = found.get(rank, 0.0) + seconds
        else:
            for each in range(log.ranks):
                found[each] = found.get(each, 0.0) + seconds / log.ranks
    return found


def _groups(of: npt.NDArray[np.void]) -> Iterator[npt.NDArray[np.void]]:
    order = np.argsort(of["file"], kind="stable")
    yield from np.split(of[order], np.flatnonzero(np.diff(of["file"][order])) + 1) if len(of) else ()


def _accesses(log: Log, totals: npt.NDArray[np.void], layers: dict[int, str]) -> Iterator[Accesses]:
    for layer in LAYERS:
        for way in ("read", "write"):
            kinds = log.kinds_where(way, layer)
            for of in _groups(totals[np.isin(totals["kind"], kinds)]) if kinds and len(totals) else ():
                file = int(of["file"][0])
                calls, moved = int(of["calls"].sum()), int(of["bytes"].sum())
                if layers.get(file) != layer or not calls or not moved or file < 0:
                    continue
                counted = of if layer != "mpi-io" else _below(log, totals, file, way)
                known = len(counted) > 0 and bool((counted["consecutive"] >= 0).all())
                yield Accesses(
                    log.files[file],
                    layer,
                    way,
                    calls,
                    moved,
                    _seconds_of_ranks(log, of),
                    log.ranks if (of["rank"] < 0).any() else len(np.unique(of["rank"])),
                    float(counted["consecutive"].sum() / max(counted["calls"].sum(), 1)) if known else math.nan,
                    _is_collective(log, layer, way),
                )


def _below(log: Log, totals: npt.NDArray[np.void], file: int, way: str) -> npt.NDArray[np.void]:
    """Return the counters of the calls that the MPI library makes: its own calls have no counters of their order."""
    found: npt.NDArray[np.void] = totals[
        (totals["file"] == file) & np.isin(totals["kind"], log.kinds_where(way, "posix"))
    ]
    return found


def _is_collective(log: Log, layer: str, way: str) -> bool:
    """Return whether most MPI-IO calls are collective, by Darshan's counters."""
    counts = log.counts.get(layer, {})
    called = {name: count for name, count in counts.items() if name.endswith((f"{way}s", f"{way}xs"))}
    collective = sum(count for name, count in called.items() if name.startswith(("coll", "split")))
    return layer == "mpi-io" and 2 * collective >= sum(called.values()) > 0


def _rows_of_files(log: Log) -> dict[tuple[str, str, str], Rows]:
    """Return the requests of each file, layer and way, in the order of their begins."""
    requests = log.requests
    if not len(requests):
        return {}
    moves = np.array([kind.direction != "" for kind in log.kinds], bool)
    rows = np.flatnonzero(moves[requests.kind] & (requests.file >= 0) & (requests.length > 0))
    rows = rows[np.argsort(requests.began[rows], kind="stable")]
    ways: dict[tuple[str, str], int] = {}
    of_kind = np.array([ways.setdefault((kind.layer, kind.direction), len(ways)) for kind in log.kinds])
    key = requests.file[rows].astype(np.int64) * len(ways) + of_kind[requests.kind[rows]]
    order = np.argsort(key, kind="stable")
    found: dict[tuple[str, str, str], Rows] = {}
    for part in np.split(rows[order], np.flatnonzero(np.diff(key[order])) + 1) if len(rows) else ():
        kind = log.kinds[int(requests.kind[part[0]])]
        found[log.files[int(requests.file[part[0]])], kind.layer, kind.direction] = part
    return found


def _look_into(log: Log, one: Accesses, of_file: dict[tuple[str, str, str], Rows]) -> None:
    """Add what the requests tell; of counters, the number of runs follows from consecutive calls."""
    for layer in dict.fromkeys((one.layer, "posix", "stdio")):
        rows = of_file.get((one.file, layer, one.way))
        if rows is not None:
            break
    if rows is None:
        if not math.isnan(one.consecutive):
            one.runs = one.space_runs = max(1.0, one.calls * (1 - one.consecutive) / one.ranks)
            one.run_bytes = one.bytes / (one.runs * one.ranks)
        return
    one.rows = rows
    if layer == one.layer and log.requests.collective[rows].mean() >= COLLECTIVE:
        one.is_collective = True
    one.phases = _phases(log, rows)
    offset, length, rank = (getattr(log.requests, name)[rows] for name in ("offset", "length", "rank"))
    if (offset < 0).any():
        return
    rank = rank.astype(np.int64)
    low = int(offset.min())
    one.span = int((offset + length).max()) - low
    together = runs_of(offset, length)
    one.distinct = together.bytes
    own = runs_of((rank - rank.min()) * (one.span + 1) + offset - low, length)
    one.rank_distinct, one.known_bytes = own.bytes, int(length.sum())
    ranks = len(np.unique(rank))
    one.space_runs = len(own) / ranks
    one.runs = max(one.space_runs, _breaks(rank, offset, length) / ranks / one.passes)
    one.run_bytes = own.bytes / ranks / one.runs
    one.gap = (one.span - together.bytes) / max(len(own) - 1, 1)
    named = distribution_of(rank, offset, length) if log.complete else None
    one.distribution = "" if named is None else named.words


def _breaks(rank: npt.NDArray[np.int64], offset: npt.NDArray[np.int64], length: npt.NDArray[np.int64]) -> int:
    """Return the number of calls, in the order of time, that do not begin where the rank's previous one ended."""
    order = np.argsort(rank, kind="stable")
    follows = (rank[order][1:] == rank[order][:-1]) & (offset[order][1:] == (offset + length)[order][:-1])
    return len(rank) - int(follows.sum())


def _phases(log: Log, rows: Rows) -> int:
    """Return the number of phases of these calls: times that are separated by times without one of them."""
    began = log.requests.began[rows]
    ended = np.maximum.accumulate(log.requests.ended[rows])
    gap = max(GAP_SECONDS_MIN, GAP_PART * log.execution_seconds / max(log.ranks, 1))
    return 1 + int((began[1:] - ended[:-1] > gap).sum())


def _metadata(log: Log, totals: npt.NDArray[np.void], layers: dict[int, str]) -> Iterator[Metadata]:
    kinds = [index for index, kind in enumerate(log.kinds) if not kind.direction and kind.layer in LAYERS]
    for of in _groups(totals[np.isin(totals["kind"], kinds)]) if kinds and len(totals) else ():
        file = int(of["file"][0])
        layer = np.array([log.kinds[kind].layer for kind in of["kind"]])
        of = of[layer == layers[file]] if file in layers else of  # noqa: PLW2901
        if not len(of) or file < 0:
            continue
        names = [log.kinds[kind].name for kind in of["kind"]]
        groups = {name: of[[one == name for one in names]] for name in dict.fromkeys(names)}
        written = totals[(totals["file"] == file) & np.isin(totals["kind"], log.kinds_where("write", layers.get(file)))]
        yield Metadata(
            log.files[file],
            {name: int(rows["calls"].sum()) for name, rows in groups.items()},
            {name: _seconds_of_ranks(log, rows) for name, rows in groups.items()},
            log.ranks if (of["rank"] < 0).any() else len(np.unique(of["rank"])),
            int(written["bytes"].sum()),
            layers.get(file, ""),
        )
