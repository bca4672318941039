"""The operations of a traced run: in each phase of I/O, the bytes that its ranks moved in each file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath.errors import ArgumentError
from swath.simulation.operations import Box, Operation
from swath.trace.bursts import bursts
from swath.trace.intervals import runs_of
from swath.trace.log import Log, Requests


def operations_of_trace(log: Log, method: str = "auto") -> list[Operation]:
    """Return an operation for each phase, file and direction of a run.

    A phase is as in `swath characterise`: calls without a long pause between them. Its requests become one collective
    operation on the bytes of the file, so the order of requests within a phase is not kept. The time between
    two phases is the gap of the next operation.

    Args:
        log: the log of the run.
        method: how all operations are carried out.

    Raises:
        ArgumentError: the log has no requests with offsets.
    """
    made = list(_operations(log, method))
    if not made:
        raise ArgumentError(
            f"{log.path}: no request with an offset and a rank is recorded: there is nothing to simulate"
        )
    return made


def _operations(log: Log, method: str) -> Iterator[Operation]:
    found = bursts(log)
    ranks = max(log.ranks, int(log.requests.rank.max(initial=-1)) + 1)
    last = np.append(found.first[1:], len(found.order))
    ended = None
    for first, end in zip(found.first, last, strict=True):
        requests = log.requests.take(found.order[first:end])
        gap = 0.0 if ended is None else max(0.0, float(requests.began.min()) - ended)
        ended = float(requests.ended.max())
        for direction in ("read", "write"):
            of = np.isin(requests.kind, log.kinds_where(direction)) & (requests.offset >= 0) & (requests.length > 0)
            of &= (requests.rank >= 0) & (requests.file >= 0) & ~requests.failed
            for file in np.unique(requests.file[of]):
                mine = requests.take(of & (requests.file == file))
                yield Operation(
                    (int((mine.offset + mine.length).max()),),
                    "u1",
                    tuple(_boxes(mine, rank) for rank in range(ranks)),
                    write=direction == "write",
                    method=method,
                    file=log.files[int(file)],
                    gap_seconds=gap,
                    name=f"{direction} {log.files[int(file)]}",
                )
                gap = 0.0


def _boxes(requests: Requests, rank: int) -> tuple[Box, ...]:
    of = requests.rank == rank
    runs = runs_of(requests.offset[of].astype(np.int64), requests.length[of].astype(np.int64))
    return tuple(((low,), (high,)) for low, high in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True))
