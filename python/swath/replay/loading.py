"""Reads what can be replayed from the log of a run, of any tracer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from swath.errors import UnsupportedError
from swath.replay.actions import UNKNOWN, Action, Run, in_phases, said_of_left_out
from swath.replay.lengths import with_lengths, with_operations
from swath.replay.traced import actions_of_traces
from swath.trace.log import OPENS, READS, WRITES, Log
from swath.trace.opening import read_log
from swath.trace.reading import read_trace

NAMES = {
    **dict.fromkeys(READS, "read"),
    **dict.fromkeys(WRITES, "write"),
    **dict.fromkeys(OPENS, "open"),
    **dict.fromkeys(("close", "fclose"), "close"),
    **dict.fromkeys(("seek", "lseek", "fseek", "fseeko"), "seek"),
    **dict.fromkeys(("sync", "fsync", "fdatasync"), "sync"),
    **dict.fromkeys(("flush", "fflush"), "flush"),
    **dict.fromkeys(("stat", "fstat", "lstat", "__xstat", "__fxstat", "__lxstat"), "stat"),
    **dict.fromkeys(("unlink", "remove"), "unlink"),
}
"""The actions of calls, by the names that tracers use."""


def load(path: str) -> Run:
    """Return the run of a trace.

    Args:
        path: a folder with traces of Swath or DFTracer, one of these files, or a Darshan log with DXT.

    Raises:
        NotFoundError, StoreError, FormatError: as `swath.trace.opening.read_log`.
        UnsupportedError: the log has no calls that can be replayed, such as counters only.
    """
    log = read_log(path)
    if log.tracer == "Swath":
        found = actions_of_traces(read_trace(path))
        actions, names, operations, notes = found.actions, found.files, found.operations, found.notes
    else:
        actions, names, notes = _actions_of_log(log)
        operations = []
    if not any(one.moves for of_rank in actions for one in of_rank):
        raise UnsupportedError(_refusal(path, log))
    lasted = max(one.began + one.seconds for of_rank in actions for one in of_rank)
    files = with_operations(with_lengths(names, actions), actions, operations)
    placed, phases = in_phases(actions, lasted)
    return Run(
        path,
        log.tracer,
        log.command,
        placed,
        tuple(files),
        tuple(operations),
        tuple(dict.fromkeys([*log.notes, *notes])),
        log.complete,
        phases=phases,
    )


def _refusal(path: str, log: Log) -> str:
    if log.tracer.startswith("Darshan") and len(log.totals):
        return (
            f"replay {path}: it has counters only: where each request lies is not known. Trace the run with DXT "
            "(DXT_ENABLE_IO_TRACE=1), or with swath trace"
        )
    return f"replay {path}: it has no read or write that can be replayed" + "".join(f"; {note}" for note in log.notes)


def _actions_of_log(log: Log) -> tuple[list[list[Action]], list[str], list[str]]:
    """Return the actions of each rank, the files, and what is left out."""
    requests = log.requests
    wanted = _wanted(log)
    kinds = [(NAMES.get(kind.name, ""), "stdio" if kind.layer == "stdio" else "posix") for kind in log.kinds]
    left_out: Counter[str] = Counter()
    ranks = np.unique(requests.rank[wanted]).tolist()
    lanes: dict[int, list[Action]] = {rank: [] for rank in ranks}
    columns = (
        requests.kind,
        requests.file,
        requests.rank,
        requests.offset,
        requests.length,
        requests.began,
        requests.seconds,
        requests.failed,
    )
    for kind, file, rank, offset, length, began, seconds, failed in zip(
        *(column[wanted].tolist() for column in columns), strict=True
    ):
        name, layer = kinds[kind]
        if not name or failed or file == UNKNOWN:
            left_out[f"{log.kinds[kind].name}{' that failed' if failed else ''}"] += 1
            continue
        lanes[rank].append(Action(name, layer, file, offset, length, seconds=seconds, began=began))
    notes = list(said_of_left_out(left_out))
    if len(ranks) < log.ranks:
        notes.append(f"{len(ranks)} of {log.ranks} ranks have calls in the log: only these are replayed")
    return [lanes[rank] for rank in ranks], list(log.files), notes


def _wanted(log: Log) -> npt.NDArray[np.bool_]:
    """Return the calls to replay: those of the file system, and those of MPI-IO where no others are recorded."""
    layers = np.array([kind.layer for kind in log.kinds])
    of_system = np.isin(layers, ["posix", "stdio"])[log.requests.kind]
    moves = np.array([kind.direction != "" for kind in log.kinds])[log.requests.kind]
    below = np.unique(log.requests.file[of_system & moves])
    of_mpi_io = (layers == "mpi-io")[log.requests.kind]
    wanted: npt.NDArray[np.bool_] = of_system | (of_mpi_io & ~np.isin(log.requests.file, below))
    return wanted
