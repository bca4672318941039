"""Logs of runs that were not carried out: what ranks call is a list, and the log follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from swath.trace.log import UNKNOWN, Kind, Log, joined, requests_of

MIB = 1 << 20
OPERATION = 'write("/data/file")\ndistribution=block'
"""The words of an operation of Swath."""


@dataclass(frozen=True)
class Call:
    """A call of a rank; it begins `after` seconds behind the end of the rank's previous call."""

    rank: int
    name: str
    offset: int
    length: int
    seconds: float = 1e-3
    after: float = 0.0
    file: str = "/data/file"


def made_log(calls: Iterable[Call], ranks: int, *, layer: str = "posix", has_mpi: bool | None = None) -> Log:
    """A log of these calls; the run ends with the last one. Several ranks are of MPI unless `has_mpi` is False."""
    listed = list(calls)
    files = list(dict.fromkeys(call.file for call in listed))
    kinds = [Kind(layer, name) for name in dict.fromkeys(call.name for call in listed)]
    now = [0.0] * ranks
    began = []
    for call in listed:
        began.append(now[call.rank] + call.after)
        now[call.rank] = began[-1] + call.seconds
    log = Log("/data/log", "Swath made", "./program", ranks, ranks > 1 if has_mpi is None else has_mpi)
    log.files, log.kinds = files, kinds
    log.execution_seconds = max(now, default=0.0) * ranks
    log.requests = requests_of(
        len(listed),
        kind=[[kind.name for kind in kinds].index(call.name) for call in listed],
        file=[files.index(call.file) for call in listed],
        rank=[call.rank for call in listed],
        offset=[call.offset if call.length else UNKNOWN for call in listed],
        length=[call.length for call in listed],
        began=np.array(began, float),
        seconds=[call.seconds for call in listed],
    )
    return log


def rows_of_ranks(ranks: int, rows: int, size: int, way: str = "write", seconds: float = 7e-3) -> list[Call]:
    """Rows of a shared file that the ranks have in turn, each with a call of its own: BTIO as it was found."""
    return [Call(rank, way, (row * ranks + rank) * size, size, seconds) for row in range(rows) for rank in range(ranks)]


def rows_of_one_rank(ranks: int, rows: int, size: int) -> list[Call]:
    """The same rows, which rank 0 writes for all, block after block: AST as it was found."""
    calls = [
        Call(0, "write", (row * ranks + block) * size, size, 7e-3) for block in range(ranks) for row in range(rows)
    ]
    return [*calls, *(Call(rank, "open", 0, 0, 1e-6) for rank in range(ranks))]


def columns(side: int, element: int, *, passes: int = 2) -> list[Call]:
    """A file that is written row by row and read column by column: the transform of FFT as it was found."""
    row = side * element
    written = [Call(0, "write", at * row, row) for at in range(side)]
    read = [
        Call(0, "read", at * row + column * element, element, 1e-3)
        for _ in range(passes)
        for column in range(side)
        for at in range(side)
    ]
    return [*written, *read]


def batches(ranks: int, count: int, size: int, *, passes: int, compute: float, pieces: int = 1) -> list[Call]:
    """A file of each rank that is read again in every iteration, with computing between: SCF 1.1."""
    calls = []
    for rank in range(ranks):
        file = f"/data/integrals.{rank}"
        calls += [Call(rank, "write", batch * size, size, 1e-3, file=file) for batch in range(count)]
        for _ in range(passes):
            for batch in range(count):
                for piece in range(pieces):
                    at = batch * size + piece * (size // pieces)
                    wait = 0.0 if piece else compute
                    calls.append(Call(rank, "read", at, size // pieces, 5e-3, wait, file))
    return calls


def of_swath(aggregators: int | None, ranks: int = 4) -> Log:
    """A log of collective operations of Swath; None: their plans have chosen the number of aggregators."""
    calls = [Call(rank, "write", rank * MIB, MIB, 0.2) for _ in range(5) for rank in range(ranks)]
    log = made_log(calls, ranks, layer="swath")
    log.operations = [OPERATION if aggregators is None else f"{OPERATION}\ntuning[aggregators]={aggregators}"]
    log.requests.operation[:] = 0
    return log


def of_mpi_io(below: tuple[int, ...], ranks: int = 4) -> Log:
    """A log of collective calls of MPI-IO, and of the calls of some ranks on the file system below them."""
    log = made_log([Call(rank, "write", rank * MIB, MIB, 0.2) for rank in range(ranks)], ranks, layer="mpi-io")
    log.counts = {"mpi-io": {"coll_writes": ranks}}
    part = ranks * MIB // max(len(below), 1)
    others = made_log([Call(rank, "write", n * part, part, 0.1) for n, rank in enumerate(below)], ranks)
    others.requests.kind[:] = 1
    log.kinds = [*log.kinds, Kind("posix", "write")]
    log.requests = joined([log.requests, others.requests])
    return log
