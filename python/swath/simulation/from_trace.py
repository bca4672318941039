"""The operations of a traced run: in each phase of I/O, the bytes that its ranks moved in each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from swath import _core
from swath.errors import ArgumentError, UnsupportedError
from swath.replay.actions import Action
from swath.replay.traced import TracedRun, actions_of_traces
from swath.simulation.operations import Box, ExactOperation, Operation
from swath.trace.bursts import bursts
from swath.trace.intervals import runs_of
from swath.trace.log import Log, Requests
from swath.trace.reading import ProcessTrace, is_operation, read_trace


def exact_operations(log: Log, method: str = "auto") -> tuple[list[ExactOperation], int]:
    """Return the operations of Swath in a trace, and the number of ranks.

    The operations of all ranks are in their order, and each rank's own operations are between those of all ranks as in
    its trace. The time that a rank computed between two of its operations is its gap of the second. Other calls are
    left out.

    Args:
        log: the log of the run, which Swath has traced.
        method: how all operations are carried out; "auto" for the methods of the program's calls.

    Raises:
        UnsupportedError: some of the ranks made operations together, but not all.
    """
    traces = read_trace(log.path)
    try:
        traced = actions_of_traces(traces)
    except UnsupportedError as error:
        raise _of_some_ranks(log, str(error)) from None
    found = [[one for one in of_rank if one.name == "operation"] for of_rank in traced.actions]
    ranks = max(1, len(found))
    if alone := _only_alone(traces):
        raise _of_some_ranks(log, f"rank {alone[0]} takes part in none of those that others made together")
    known = [_core.Operation.parse(exact) for exact in traced.operations]
    return _Sequences(traced, known, method).in_order(found), ranks


def _only_alone(traces: list[ProcessTrace]) -> list[int]:
    """Return the ranks that made operations by themselves only, if others made some together."""
    sizes: dict[int, int] = {}
    for trace in traces:
        for event in filter(is_operation, trace.events):
            sizes[trace.rank] = max(sizes.get(trace.rank, 0), int(event.arguments["ranks"]))
    together = max(sizes.values(), default=0) > 1
    return sorted(rank for rank, size in sizes.items() if together and size == 1)


def _of_some_ranks(log: Log, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"{log.path}: operations of some of the ranks together cannot be simulated, only those of all ranks and those "
        f"of single ranks: {why}"
    )


class _Sequences:
    """Puts the ranks' operations into one list that has the order of each rank."""

    def __init__(self, traced: TracedRun, known: list[_core.Operation], method: str) -> None:
        self._traced, self._known, self._method = traced, known, method
        self._file_bytes: dict[int, int] = {}
        for one in (one for of_rank in traced.actions for one in of_rank if one.name == "operation"):
            layout = known[one.operation].array.layout
            if layout is not None:
                self._file_bytes[one.file] = max(self._file_bytes.get(one.file, 0), layout.end)

    def in_order(self, found: list[list[Action]]) -> list[ExactOperation]:
        """Return the operations: between two of all ranks those of single ranks, by the time of their begin."""
        began = min((one.began for of_rank in found for one in of_rank), default=0.0)
        timed = [list(zip(of_rank, _gaps(of_rank, began), strict=True)) for of_rank in found]
        parts = [_split(of_rank, self._is_of_all_ranks) for of_rank in timed]
        made: list[ExactOperation] = []
        for segment in range(max(map(len, parts), default=0)):
            alone = [
                (one, gap, rank)
                for rank, of_rank in enumerate(parts)
                for one, gap in of_rank[segment]
                if not self._is_of_all_ranks(one)
            ]
            made += [self._exact(one, gap, rank) for one, gap, rank in sorted(alone, key=lambda each: each[0].began)]
            together = [of_rank[segment][-1] for of_rank in parts if of_rank[segment]]
            if together and self._is_of_all_ranks(together[0][0]):
                made.append(self._exact(together[0][0], tuple(gap for _, gap in together), None))
        return made

    def _is_of_all_ranks(self, action: Action) -> bool:
        return len(self._traced.actions) == 1 or self._known[action.operation].ranks > 1

    def _exact(self, action: Action, gap: float | tuple[float, ...], rank: int | None) -> ExactOperation:
        operation, file = self._known[action.operation], self._traced.files[action.file]
        return ExactOperation(
            self._traced.operations[action.operation],
            file,
            self._file_bytes.get(action.file, 0),
            _bytes_of(operation),
            operation.direction == "write",
            "" if self._method == "auto" else self._method,
            gap,
            f"{operation.direction} {file}",
            rank=rank,
        )


def _gaps(actions: list[Action], began: float) -> list[float]:
    """Return the seconds before each action without another one; before the first one those since `began`."""
    gaps = []
    for action in actions:
        gaps.append(max(0.0, action.began - began))
        began = max(began, action.began + action.seconds)
    return gaps


def _split(timed: list[tuple[Action, float]], ends: Callable[[Action], bool]) -> list[list[tuple[Action, float]]]:
    """Return the parts of a list, each of which ends with an action that `ends`; the last one may be empty."""
    parts: list[list[tuple[Action, float]]] = [[]]
    for one in timed:
        parts[-1].append(one)
        if ends(one[0]):
            parts.append([])
    return parts


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
