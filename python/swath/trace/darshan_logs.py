"""Reads Darshan's logs with the package `darshan`: counters, and the requests of DXT."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from swath.errors import FormatError, NotFoundError, UnsupportedError
from swath.trace import darshan_process
from swath.trace.log import SIZE_BOUNDS, TOTAL, UNKNOWN, Indices, Kind, Log, Requests, Stripes, joined, requests_of

LAYERS = {"POSIX": "posix", "MPI-IO": "mpi-io", "STDIO": "stdio", "DXT_POSIX": "posix", "DXT_MPIIO": "mpi-io"}
COUNTED = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}
"""For each module of DXT, the module that counts the same calls."""
SEGMENTS_MAX = 65_536
"""The limit of requests for each file and rank in old versions of DXT."""
METADATA = ("OPENS", "DUPS", "STATS", "SEEKS", "MMAPS", "SYNCS", "FLUSHES", "VIEWS", "RENAMES", "REMOVES", "CREATES")
"""The ends of the names of counters of calls that move no bytes."""
NOT_CALLS = ("_SEQ_", "_CONSEC_", "_RW_", "_DATATYPE_", "_SIZE_")
"""Parts of the names of counters of reads and writes that do not count calls."""


@dataclass(frozen=True)
class Answer:
    """The answer of the process that reads the log: facts, and arrays by their names."""

    said: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def read_darshan(path: str) -> Log:
    """Return a Darshan log.

    Raises:
        NotFoundError: there is no such file.
        UnsupportedError: the package `darshan` is not installed.
        FormatError: Darshan's library cannot read the file.
    """
    answer = _ask(path)
    job = answer.said["job"]
    log = Log(path, f"Darshan (log version {job['log_ver']})", answer.said["exe"].strip())
    log.ranks = max(int(job["nprocs"]), 1)
    log.has_mpi = log.ranks > 1 or "MPI-IO" in answer.said["counters"]
    log.began = job["start_time_sec"] + job["start_time_nsec"] * 1e-9
    log.execution_seconds = max(float(job["run_time"]), 0.0) * log.ranks
    files, kinds = Indices(), Indices()
    totals = [_totals(answer, module, log, files, kinds) for module in answer.said["counters"]]
    log.totals = np.concatenate([np.zeros(0, TOTAL), *totals])
    parts = [_requests(answer, module, files, kinds) for module in darshan_process.TRACED if _has(answer, module)]
    log.requests = joined(parts)
    log.kinds = [kind for kind in kinds if isinstance(kind, Kind)]
    names = answer.said["names"]
    log.files = [names.get(str(one), f"file {one}, whose name is not in the log") for one in files]
    log.stripes = {
        files[int(one)]: Stripes(size, tuple(servers))
        for one, (size, servers) in answer.said.get("stripes", {}).items()
        if int(one) in files and size > 0 and servers
    }
    _note(answer, log)
    return log


def _ask(path: str) -> Answer:
    command = [sys.executable, "-m", "swath.trace.darshan_process", path]
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise NotFoundError(f"log {path}: {error.strerror}", error.errno) from None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            answer = _answer(process.stdout)
        except (ValueError, struct.error):
            answer = None
        why = process.stderr.read().decode(errors="replace").strip()
        status = process.wait()
    if status == darshan_process.NO_PACKAGE:
        raise UnsupportedError(f"log {path}: Darshan's logs need the package darshan: pip install 'swath[darshan]'")
    if status != 0 or answer is None:
        reason = why.splitlines()[-1] if why else f"Darshan's library ended with status {status}"
        raise FormatError(f"log {path}: it is no log of Darshan, or damaged: {reason}")
    return answer


def _answer(pipe: IO[bytes]) -> Answer:
    (length,) = struct.unpack("<q", pipe.read(8))
    said = json.loads(pipe.read(length))
    arrays = {}
    for name, (described, shape) in said["arrays"].items():
        fields = [tuple(one) for one in described]
        dtype = np.dtype(fields if len(fields) > 1 else fields[0][1])
        stored = pipe.read(dtype.itemsize * int(np.prod(shape)))
        arrays[name] = np.frombuffer(stored, dtype).reshape(shape)
    return Answer(said, arrays)


def _has(answer: Answer, module: str) -> bool:
    return f"{module} segments" in answer.arrays


class Counters:
    """The counters of one module, by their names without its prefix. Each has a row for each record."""

    def __init__(self, answer: Answer, module: str) -> None:
        self.ids = answer.arrays[f"{module} id"]
        self.ranks = answer.arrays[f"{module} rank"]
        self.columns: dict[str, npt.NDArray[Any]] = {}
        for part, names in zip(("counters", "fcounters"), answer.said["counters"][module], strict=True):
            columns = answer.arrays[f"{module} {part}"].T
            self.columns.update((name.split("_", 1)[1], column) for name, column in zip(names, columns, strict=True))

    def get(self, name: str, default: float) -> npt.NDArray[Any]:
        """Return a counter; if there is none of this name, the default."""
        return self.columns.get(name, np.full(len(self.ids), default))

    def ending(self, *ends: str) -> dict[str, npt.NDArray[Any]]:
        """Return the counters of calls whose names have one of these ends."""
        return {
            name: np.maximum(column, 0)  # -1: Darshan could not count them
            for name, column in self.columns.items()
            if name.endswith(ends) and not name.startswith("F_") and not any(one in f"_{name}" for one in NOT_CALLS)
        }


def _totals(answer: Answer, module: str, log: Log, files: Indices, kinds: Indices) -> npt.NDArray[np.void]:
    counters = Counters(answer, module)
    layer = LAYERS.get(module, module.lower())
    file = [files[int(one)] for one in counters.ids]
    parts = []
    for name, verb in (("read", "READ"), ("write", "WRITE")):
        calls = counters.ending(f"{verb}S", f"{verb}XS")
        log.counts.setdefault(layer, {}).update((one.lower(), int(column.sum())) for one, column in calls.items())
        bytes_name = "BYTES_READ" if name == "read" else "BYTES_WRITTEN"
        if not calls and bytes_name not in counters.columns:
            continue
        rows = _rows(counters, file, kinds[Kind(layer, name)])
        rows["calls"] = sum(calls.values())
        rows["seconds"] = counters.get(f"F_{verb}_TIME", np.nan)
        rows["bytes"] = counters.get(bytes_name, 0)
        rows["began"] = _times(counters.get(f"F_{verb}_START_TIMESTAMP", 0))
        rows["ended"] = _times(counters.get(f"F_{verb}_END_TIMESTAMP", 0))
        rows["sequential"] = counters.get(f"SEQ_{verb}S", UNKNOWN)
        rows["consecutive"] = counters.get(f"CONSEC_{verb}S", UNKNOWN)
        rows["sizes"] = _sizes(counters, verb)
        parts.append(rows)
    calls = counters.ending(*METADATA)
    log.counts.setdefault(layer, {}).update((one.lower(), int(column.sum())) for one, column in calls.items())
    rows = _rows(counters, file, kinds[Kind(layer, "metadata")])
    rows["calls"] = sum(calls.values())
    rows["seconds"] = counters.get("F_META_TIME", np.nan)
    return np.concatenate([*parts, rows])


def _rows(counters: Counters, file: list[int], kind: int) -> npt.NDArray[np.void]:
    rows = np.zeros(len(file), TOTAL)
    rows["kind"], rows["file"], rows["rank"] = kind, file, counters.ranks
    rows["began"] = rows["ended"] = np.nan
    rows["sequential"] = rows["consecutive"] = UNKNOWN
    return rows


def _times(stamps: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.where(stamps > 0, stamps, np.nan)


def _sizes(counters: Counters, verb: str) -> npt.NDArray[Any]:
    columns = [column for name, column in counters.columns.items() if name.startswith(f"SIZE_{verb}_")]
    if len(columns) != len(SIZE_BOUNDS) + 1:
        return np.zeros((len(counters.ids), len(SIZE_BOUNDS) + 1), np.int64)
    return np.stack(columns, axis=1)


def _requests(answer: Answer, module: str, files: Indices, kinds: Indices) -> Requests:
    rows, segments = answer.arrays[f"{module} rows"], answer.arrays[f"{module} segments"]
    layer = LAYERS[module]
    pair = np.array([kinds[Kind(layer, "write")], kinds[Kind(layer, "read")]], np.int16)
    counts = np.stack([rows["writes"], rows["reads"]], axis=1)
    return requests_of(
        len(segments),
        kind=np.repeat(np.tile(pair, len(rows)), counts.ravel()),
        file=np.repeat(np.array([files[int(one)] for one in rows["id"]], np.int32), counts.sum(axis=1)),
        rank=np.repeat(rows["rank"], counts.sum(axis=1)),
        offset=np.maximum(segments["offset"], UNKNOWN),
        length=np.maximum(segments["length"], 0),
        began=segments["began"],
        seconds=np.maximum(segments["ended"] - segments["began"], 0),
    )


def _note(answer: Answer, log: Log) -> None:
    modules = answer.said["modules"]
    traced = [module for module in darshan_process.TRACED if _has(answer, module)]
    if not modules or not (len(log.totals) or len(log.requests)):
        log.notes.append("it is empty: Darshan has recorded no call on any file")
    elif not len(log.requests):
        log.notes.append("counters only: where each request lies is not known, and nothing can be replayed")
    for module, said in modules.items():
        if said["partial_flag"]:
            log.complete = False
            log.notes.append(f"{module} is partial: Darshan had no memory for more, and what came later is not counted")
    for module, why in answer.said["unread"].items():
        log.complete = False
        log.notes.append(f"{module} cannot be read by the package darshan: {why}")
    for module in traced:
        _note_cuts(answer, module, log)
    if len(log.requests) and not np.isfinite(log.requests.began + log.requests.seconds).all():
        raise FormatError(f"log {log.path}: DXT has times that cannot be: it is damaged")


def _note_cuts(answer: Answer, module: str, log: Log) -> None:
    rows = answer.arrays[f"{module} rows"]
    if len(rows) and (np.maximum(rows["writes"], rows["reads"]) >= SEGMENTS_MAX).any():
        log.complete = False
        log.notes.append(f"{module} is cut at {SEGMENTS_MAX:,} segments of a file and rank")
    counted = log.counts.get(LAYERS[module])
    if counted is None or COUNTED[module] not in answer.said["counters"]:
        return
    calls = sum(count for name, count in counted.items() if name.endswith(("reads", "writes")))
    recorded = int(rows["writes"].sum() + rows["reads"].sum())
    if recorded < calls:
        log.complete = False
        log.notes.append(f"{module} has {recorded:,} of {calls:,} requests: what it has not cannot be replayed")
