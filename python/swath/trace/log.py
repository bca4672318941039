"""The log of a run, in one form for all tracers: columns of requests, sums of counters, and notes on unknown facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

UNKNOWN = -1
"""Stands for an offset, a file, a rank or an operation that the log does not contain."""
SIZE_BOUNDS = (100, 1_000, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000, 1_000_000_000)
"""Darshan counts requests by their sizes between these bounds."""
READS = frozenset({"read", "pread", "readv", "preadv", "preadv2", "fread", "fgets", "getline", "aio_read"})
WRITES = frozenset(
    {"write", "pwrite", "writev", "pwritev", "pwritev2", "fwrite", "fputs", "fprintf", "aio_write", "copy"}
)
OPENS = frozenset({"open", "openat", "creat", "fopen", "fdopen"})

Column = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Kind:
    """A kind of call.

    Attributes:
        layer: the interface that is called: "swath", "posix", "mpi-io", "stdio", "hdf5", …. Lower layers move the bytes
            of a layer once more: sums over several layers count bytes twice.
        name: "read", "write", "open", …; "metadata" for all calls together that move no bytes.
    """

    layer: str
    name: str

    @property
    def direction(self) -> str:
        """Return "read" or "write"; "" for a call that moves no bytes."""
        return "read" if self.name in READS else "write" if self.name in WRITES else ""


@dataclass
class Requests:
    """A table of calls: a row for each call, in columns.

    Attributes:
        kind: an index into `Log.kinds`.
        file: an index into `Log.files`.
        rank: the rank that made the call.
        operation: an index into `Log.operations`; an operation has more structure than offset and length.
        offset: the offset in the file, in bytes; UNKNOWN if the bytes are not contiguous, or the log does not say.
        length: the number of moved bytes.
        began: the begin, in seconds since `Log.began`.
        seconds: the time of the call.
        predicted: the seconds that a plan predicted; NaN if there was no plan.
        failed: whether the call failed.
        collective: whether the ranks of the file make the call together, as far as the log says.
    """

    kind: npt.NDArray[np.int16]
    file: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32]
    operation: npt.NDArray[np.int32]
    offset: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    began: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.float32]
    failed: npt.NDArray[np.bool_]
    collective: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def ended(self) -> npt.NDArray[np.float64]:
        """Return when each call ended."""
        return self.began + self.seconds

    def take(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Requests:
        """Return some of the rows."""
        return Requests(*(getattr(self, one.name)[rows] for one in fields(self)))


DTYPES = {
    "kind": np.int16,
    "file": np.int32,
    "rank": np.int32,
    "operation": np.int32,
    "offset": np.int64,
    "length": np.int64,
    "began": np.float64,
    "seconds": np.float64,
    "predicted": np.float32,
    "failed": np.bool_,
    "collective": np.bool_,
}
DEFAULTS = {"operation": UNKNOWN, "offset": UNKNOWN, "predicted": np.nan, "failed": False, "collective": False}


def requests_of(rows: int, **columns: npt.ArrayLike) -> Requests:
    """Return requests. Columns that are not given are unknown."""
    made: dict[str, npt.NDArray[Any]] = {
        name: np.full(rows, DEFAULTS[name], dtype) if name not in columns else np.asarray(columns[name], dtype)
        for name, dtype in DTYPES.items()
    }
    return Requests(**made)


def joined(parts: Sequence[Requests]) -> Requests:
    """Return the rows of all parts, in this order."""
    if not parts:
        return requests_of(0, **{name: [] for name in DTYPES})
    return Requests(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Requests)))


TOTAL = np.dtype(
    [
        ("kind", np.int16),
        ("file", np.int32),
        ("rank", np.int32),
        ("calls", np.int64),
        ("failed", np.int64),
        ("seconds", np.float64),
        ("bytes", np.int64),
        ("began", np.float64),
        ("ended", np.float64),
        ("sequential", np.int64),
        ("consecutive", np.int64),
        ("sizes", np.int64, (len(SIZE_BOUNDS) + 1,)),
    ]
)
"""Sums over all calls of one kind, on one file, by one rank (UNKNOWN: several ranks). `began` is the begin of the first
call, `ended` the end of the last one; NaN if not known. `sequential` counts calls that lie behind the previous one,
`consecutive` those right behind it; UNKNOWN if not known."""


@dataclass(frozen=True)
class Stripes:
    """The striping of a file over servers.

    Attributes:
        bytes: the bytes of a stripe.
        servers: stripe i is on `servers[i % len(servers)]`.
    """

    bytes: int
    servers: tuple[int, ...]


@dataclass
class Log:
    """The log of one run.

    Attributes:
        path: the path of the log.
        tracer: the program that wrote it: "Swath", "Darshan", "DFTracer", ….
        command: the command line of the run; "" if it is not known.
        ranks: the number of processes.
        has_mpi: whether they are ranks that a launcher of MPI has started, as far as the log says.
        began: the begin of the run, in seconds since 1970.
        execution_seconds: the time of all processes together, each from its begin to its end.
        files: the names of the files.
        kinds: the kinds of calls.
        operations: structured operations, in words (traces of Swath).
        requests: each recorded call.
        totals: counters (`TOTAL`) of layers whose calls were counted. They include every call of the layer; `requests`
            may lack some or all of them.
        counts: further counters of these layers, summed over files and ranks: of opens, seeks, ….
        stripes: the striping of files, by their indices.
        adaptive: what Swath adapts by itself (`swath.base.adaptive`), by the names of files.
        notes: what the log does not contain, one sentence each.
        complete: whether no request is missing, as far as the log says.
    """

    path: str
    tracer: str
    command: str = ""
    ranks: int = 0
    has_mpi: bool = False
    began: float = 0.0
    execution_seconds: float = 0.0
    files: list[str] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    requests: Requests = field(default_factory=lambda: joined([]))
    totals: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, TOTAL))
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    stripes: dict[int, Stripes] = field(default_factory=dict)
    adaptive: dict[str, set[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    complete: bool = True

    @property
    def counted_layers(self) -> set[str]:
        """Return the layers that `totals` counts."""
        return {self.kinds[kind].layer for kind in np.unique(self.totals["kind"])}

    def kinds_where(self, direction: str, layer: str | None = None) -> list[int]:
        """Return the kinds of calls that move bytes in one direction, by their indices."""
        return [
            index
            for index, kind in enumerate(self.kinds)
            if kind.direction == direction and layer in (None, kind.layer)
        ]


class Indices(dict[object, int]):
    """A mapping that assigns numbers to keys (files, kinds) in the order of their first look-up."""

    def __missing__(self, key: object) -> int:
        self[key] = len(self)
        return self[key]
