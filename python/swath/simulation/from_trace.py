"""The operations of a traced run: in each phase of I/O, the bytes that its ranks moved in each file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swath import _core
from swath.errors import ArgumentError
from swath.replay.traced import actions_of_traces
from swath.simulation.operations import Box, ExactOperation, Operation
from swath.trace.bursts import bursts
from swath.trace.intervals import runs_of
from swath.trace.log import Log, Requests
from swath.trace.reading import read_trace


def exact_operations(log: Log, method: str = "auto") -> tuple[list[ExactOperation], int]:
    """Return the operations of Swath in a trace, in their order, and the number of ranks.

    The time that rank 0 computed between two of them is the gap of the second. Other calls are left out.

    Args:
        log: the log of the run, which Swath has traced.
        method: how all operations are carried out; "auto" for the methods of the program's calls.

    Raises:
        UnsupportedError: the operations are of other communicators than that of all ranks.
        ArgumentError: single ranks made operations by themselves.
    """
    traced = actions_of_traces(read_trace(log.path))
    made: list[ExactOperation] = []
    known = [_core.Operation.parse(exact) for exact in traced.operations]
    ends: dict[int, int] = {}
    for one in (one for of_rank in traced.actions for one in of_rank if one.name == "operation"):
        layout = known[one.operation].array.layout
        if layout is not None:
            ends[one.file] = max(ends.get(one.file, 0), layout.end)
    ranks = max(1, len(traced.actions))
    ended = None
    for action in traced.actions[0] if traced.actions else []:
        if action.name != "operation":
            continue
        operation = known[action.operation]
        if operation.ranks != ranks:
            raise ArgumentError(
                f"{log.path}: ranks read or write {traced.files[action.file]} each by itself, {ranks} ranks: only "
                "operations of all ranks are simulated"
            )
        made.append(
            ExactOperation(
                traced.operations[action.operation],
                traced.files[action.file],
                ends.get(action.file, 0),
                _bytes_of(operation),
                operation.direction == "write",
                "" if method == "auto" else method,
                0.0 if ended is None else max(0.0, action.began - ended),
                f"{operation.direction} {traced.files[action.file]}",
            )
        )
        ended = action.began + action.seconds
    return made, ranks


def _bytes_of(operation: _core.Operation) -> int:
    shapes = (shape for rank in range(operation.ranks) for shape in operation.local_shapes(rank))
    return operation.array.element_bytes * sum(int(np.prod(shape)) for shape in shapes)


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
