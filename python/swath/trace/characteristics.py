"""Characteristics of a run from its log: tables (as in Kandaswamy et al. 2002), files, phases, balance. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.trace.bursts import Phase, bursts, phases_of
from swath.trace.file_use import FileUse, file_uses
from swath.trace.log import SIZE_BOUNDS, Log, Stripes
from swath.trace.totals import all_totals

PAPER_BOUNDS = tuple(1024 * size for size in (4, 64, 256, 1024, 4096, 16384))
"""The bounds of sizes in the paper's table 3, and larger ones."""
RARE = 0.1
"""If I/O takes a smaller part of the run, it does not limit the run."""
MOST = 0.5


@dataclass(frozen=True)
class Operations:
    """All calls of one kind.

    Attributes:
        layer: the interface that is called: "swath", "posix", "mpi-io", ….
        name: "read", "write", "open", …; "metadata" for all calls together that move no bytes.
        calls: the number of calls of all ranks together.
        seconds: their time, of all ranks together; NaN if it is not known.
        bytes: the bytes that they moved.
        failed: the number of failed calls.
    """

    layer: str
    name: str
    calls: int
    seconds: float
    bytes: int
    failed: int


@dataclass(frozen=True)
class Sizes:
    """A histogram of calls by the bytes that they moved.

    Attributes:
        layer: the interface that is called.
        name: "read" or "write".
        bounds: `counts[i]` calls moved at least `bounds[i - 1]` and less than `bounds[i]` bytes.
        counts: the counts of calls, one more than there are bounds.
    """

    layer: str
    name: str
    bounds: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Balance:
    """How evenly something is spread over ranks or servers.

    Attributes:
        of: "seconds of ranks", "bytes of ranks", "bytes of servers"; with the layer.
        over: the number of ranks or servers.
        mean: the mean over them.
        most: the largest value.
        which: the rank or server with the largest value; UNKNOWN if it is not known.
    """

    of: str
    over: int
    mean: float
    most: float
    which: int

    @property
    def imbalance(self) -> float:
        """Return the largest value divided by the mean: 1 if all are equal."""
        return self.most / self.mean if self.mean > 0 else 1.0


@dataclass(frozen=True)
class Characteristics:
    """The characteristics of a run's use of files.

    Attributes:
        path: the path of the log.
        tracer: the program that wrote the log.
        command: the command of the run; "" if it is not known.
        processes: the number of processes.
        execution_seconds: the time of all processes together.
        operations: the operations of each kind, layer by layer; those that took longest come first.
        counts: further counters of layers.
        sizes: the sizes of the requests.
        files: the use of each file; files with most bytes come first.
        phases: the phases of I/O, in their order.
        between_dumps: seconds from the begin of each phase that writes to the next one.
        balance: the balance over ranks, and over servers if they are known.
        limit: whether the application or the store limits the run, in words.
        notes: what the log cannot tell.
    """

    path: str
    tracer: str
    command: str
    processes: int
    execution_seconds: float
    operations: tuple[Operations, ...]
    counts: dict[str, dict[str, int]]
    sizes: tuple[Sizes, ...]
    files: tuple[FileUse, ...]
    phases: tuple[Phase, ...]
    between_dumps: tuple[float, ...]
    balance: tuple[Balance, ...]
    limit: str
    notes: tuple[str, ...] = field(default=())

    def io_seconds(self, layer: str) -> float:
        """Return the time of all calls of a layer, of all ranks together."""
        return float(sum(one.seconds for one in self.operations if one.layer == layer and one.seconds >= 0))


def characterise(log: Log) -> Characteristics:
    """Return the characteristics of a run.

    Args:
        log: a log from `swath.trace.opening.read_log`.
    """
    totals = all_totals(log)
    operations = tuple(_operations(log, totals))
    phases = phases_of(log)
    between = np.diff([phase.began for phase in phases if phase.written_bytes])
    return Characteristics(
        log.path,
        log.tracer,
        log.command,
        log.ranks,
        log.execution_seconds,
        operations,
        {layer: {name: count for name, count in of.items() if count} for layer, of in log.counts.items()},
        tuple(_sizes(log, totals)),
        tuple(file_uses(log, totals)),
        tuple(phases),
        tuple(float(one) for one in between),
        tuple(_balance(log, totals)),
        _limit(log, operations),
        tuple(log.notes),
    )


def _operations(log: Log, totals: npt.NDArray[np.void]) -> Iterator[Operations]:
    rows = []
    for index, kind in enumerate(log.kinds):
        of = totals[totals["kind"] == index]
        if len(of):
            seconds = of["seconds"]
            known = float(np.nansum(seconds)) if np.isfinite(seconds).any() else float("nan")
            sums = (int(of[name].sum()) for name in ("bytes", "failed"))
            rows.append(Operations(kind.layer, kind.name, int(of["calls"].sum()), known, *sums))
    layers = list(dict.fromkeys(one.layer for one in rows))
    yield from sorted(rows, key=lambda one: (layers.index(one.layer), -np.nan_to_num(one.seconds), one.name))


def _sizes(log: Log, totals: npt.NDArray[np.void]) -> Iterator[Sizes]:
    """Return histograms with the paper's bounds, or with Darshan's if there are only counters."""
    for index, kind in enumerate(log.kinds):
        rows = totals[(totals["kind"] == index)]
        if not kind.direction or not len(rows):
            continue
        if kind.layer in log.counted_layers:
            counts = rows["sizes"].sum(axis=0)
            bounds: tuple[int, ...] = SIZE_BOUNDS
        else:
            lengths = log.requests.length[log.requests.kind == index]
            counts = np.bincount(np.searchsorted(PAPER_BOUNDS, lengths, side="right"), minlength=len(PAPER_BOUNDS) + 1)
            bounds = PAPER_BOUNDS
        if counts.any():
            yield Sizes(kind.layer, kind.name, bounds, tuple(int(one) for one in counts))


def _balance(log: Log, totals: npt.NDArray[np.void]) -> Iterator[Balance]:
    layers = np.array([kind.layer for kind in log.kinds])
    for layer in dict.fromkeys(layers[totals["kind"]]) if len(totals) else ():
        of = totals[(layers[totals["kind"]] == layer) & (totals["rank"] >= 0)]
        if log.ranks < 2 or not len(of) or (totals["rank"][layers[totals["kind"]] == layer] < 0).any():
            continue  # counters of all ranks together do not tell the share of each rank
        for name in ("seconds", "bytes"):
            sums = np.bincount(of["rank"], np.nan_to_num(of[name]), minlength=log.ranks)
            if sums.any():
                yield _balance_of(f"{name} of ranks, {layer}", sums)
    yield from _balance_of_servers(log)


def _balance_of(what: str, sums: npt.NDArray[Any], names: Sequence[int] | None = None) -> Balance:
    at = int(sums.argmax())
    return Balance(what, len(sums), float(sums.mean()), float(sums[at]), at if names is None else names[at])


def _balance_of_servers(log: Log) -> Iterator[Balance]:
    moved: dict[int, int] = {}
    lowest = [
        kind for layer in ("posix", "mpi-io") for way in ("read", "write") for kind in log.kinds_where(way, layer)
    ]
    layer = log.kinds[lowest[0]].layer if lowest else ""
    is_lowest = np.isin(log.requests.kind, [kind for kind in lowest if log.kinds[kind].layer == layer])
    for file, stripes in log.stripes.items():
        rows = is_lowest & (log.requests.file == file) & (log.requests.offset >= 0)
        for server, count in bytes_of_servers(log.requests.offset[rows], log.requests.length[rows], stripes).items():
            moved[server] = moved.get(server, 0) + count
    if len(moved) > 1 and any(moved.values()):
        yield _balance_of("bytes of servers", np.array(list(moved.values()), float), list(moved))


def bytes_of_servers(
    offsets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], stripes: Stripes
) -> dict[int, int]:
    """Return how many bytes of the requests lie on each server."""
    found: dict[int, int] = {}
    for place, server in enumerate(stripes.servers):
        below = [_below(ends, place, stripes) for ends in (offsets + lengths, offsets)]
        found[server] = found.get(server, 0) + int((below[0] - below[1]).sum())
    return found


def _below(places: npt.NDArray[np.int64], place: int, stripes: Stripes) -> npt.NDArray[np.int64]:
    """Return how many bytes before each offset are on the server of stripe `place` of each round."""
    rounds, rest = np.divmod(places, stripes.bytes * len(stripes.servers))
    found: npt.NDArray[np.int64] = rounds * stripes.bytes + np.clip(rest - place * stripes.bytes, 0, stripes.bytes)
    return found


def _limit(log: Log, operations: Sequence[Operations]) -> str:
    layers = dict.fromkeys(one.layer for one in operations)
    seconds = max(
        (sum(np.nan_to_num(one.seconds) for one in operations if one.layer == of) for of in layers), default=0
    )
    if not seconds or not log.execution_seconds > 0:
        return "not known: the log has no times"
    part = float(seconds / log.execution_seconds)
    taken = f"I/O takes {100 * part:.1f} % of the run"
    if part > 1:
        taken += ": calls of several threads overlap, or the tracer's times are wrong"
    if part < RARE:
        return f"the application: {taken}"
    if not len(log.requests):
        return f"the store: {taken}" if part >= MOST else f"not known from counters: {taken}"
    busy = bursts(log).busy_part
    within = f"{taken}; while there is I/O, the ranks that take part are in calls {100 * busy:.0f} % of the time"
    return f"the store: {within}" if busy >= MOST else f"the application: {within}"
