"""Reads the traces that Swath writes, in each version of their format (docs/formats/trace.md)."""

from __future__ import annotations

import base64
import binascii
import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from swath import _core
from swath.errors import FormatError, NotFoundError, StoreError
from swath.trace.lines import Lines

VERSIONS = (1, 2)
"""Versions of the format that this Swath reads."""
SUFFIXES = (".pfw.gz", ".pfw")
MICROSECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Event:
    """One call of one thread.

    Attributes:
        name: "read", "write", "open", "sync", …
        category: the interface that was called: "swath", "posix", "mpi-io".
        began: its begin, in seconds since 1970.
        seconds: its time.
        thread: the system's number of the thread.
        arguments: further facts; for operations see `operation`.
    """

    name: str
    category: str
    began: float
    seconds: float
    thread: int
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TracedArray:
    """An array whose elements operations of a trace move.

    Attributes:
        identity: the file, its format and the variable, as ranks compare them.
        shape: the shape of the array.
        element_bytes: the bytes of an element.
        form: its exact form, as `swath._core.Operation.parse_parts` takes it.
        stripe_bytes: the bytes of a stripe, if the file is striped over servers as far as is known; else 0.
        servers: the number of these servers; else 0.
    """

    identity: str
    shape: tuple[int, ...]
    element_bytes: int
    form: bytes
    stripe_bytes: int = 0
    servers: int = 0


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """An operation on an array. Any number of events can refer to it.

    Attributes:
        array: the key of the array.
        words: the action and its array, then an argument on each line.
        access: its exact bytes, as `swath._core.Operation.parse_parts` takes them.
        share: the boxes or views of the rank that wrote the trace; else empty.
        begin: the first byte of the file that belongs to this rank. All three are 0 if the rank has no bytes, or if
            the places of the bytes are not known: coded chunks.
        end: one past the last such byte.
        file_bytes: the number of this rank's bytes. They are contiguous if there are `end - begin`.
    """

    array: str
    words: str
    access: bytes
    share: bytes
    begin: int = 0
    end: int = 0
    file_bytes: int = 0


@dataclass
class ProcessTrace:
    """The trace of one process.

    Attributes:
        path: the path of the trace.
        rank: the rank of the process in its job.
        version: the version of the format.
        command: the words of the command line.
        process: the process id.
        began: its begin, in seconds since 1970.
        ended: its regular end, likewise; None if it was killed, or the trace was cut.
        cut: why the trace is not complete; "" if it is.
        arrays: the arrays by their keys.
        operations: the operations by their keys.
        events: the events in the order of their ends.
        ranks: how many ranks there are, if a launcher of MPI has said so; 0 otherwise, as of the launcher itself.
    """

    path: str
    rank: int = 0
    version: int = 0
    command: str = ""
    process: int = 0
    began: float = 0.0
    ended: float | None = None
    cut: str = ""
    arrays: dict[str, TracedArray] = field(default_factory=dict)
    operations: dict[str, TracedOperation] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    ranks: int = 0


def read_trace(path: str) -> list[ProcessTrace]:
    """Return the traces of a run, by rank.

    Args:
        path: the folder that `SWATH_TRACE` named, or one file of it.

    Raises:
        NotFoundError: there is no such file or folder.
        StoreError: the system refuses to read it.
        FormatError: it contains no trace of Swath, or one of a version that this Swath does not read.
    """
    found = [_process_trace(one) for one in trace_files(path)]
    return sorted(found, key=lambda one: (one.rank, one.began, one.path))


def trace_files(path: str) -> list[str]:
    """Return the files of a trace: those in the folder, or the one file. Raise NotFoundError or FormatError."""
    if not os.path.exists(path):
        raise NotFoundError(f"trace {path}: there is no such file or folder", errno.ENOENT)
    if not os.path.isdir(path):
        return [path]
    files = sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(SUFFIXES))
    if not files:
        raise FormatError(
            f"trace {path}: the folder has no trace: expected files rank-*.pfw.gz, which a run with "
            f"SWATH_TRACE={path} writes, or DFTracer's *.pfw.gz"
        )
    return files


def why_cut(file: str, version: int, ended: float | None, cut: str) -> str:
    """Return why a trace of Swath may lack lines; "" if it is complete. Raise FormatError if it is not one of Swath.

    Args:
        file: its path.
        version: the version that it says; 0 if it says none.
        ended: when its process ended, as it says; None or 0 if it does not say so.
        cut: why it was not read to its end; "" if it was.
    """
    if not version and not cut:
        raise FormatError(f"trace {file}: no line says that Swath has written it (swath_trace)")
    return cut or ("" if ended else "it has no end: the process was killed, still runs, or its trace was stopped")


def _process_trace(path: str) -> ProcessTrace:
    trace = ProcessTrace(path)
    try:
        with open(path, "rb") as file:
            lines = Lines(file)
            for number, one in _objects(lines, trace):
                _take(one, number, trace)
    except OSError as error:
        raise StoreError(f"trace {path}: {error.strerror}", error.errno or 0) from None
    trace.cut = why_cut(path, trace.version, trace.ended, trace.cut or lines.cut)
    return trace


def _objects(lines: Lines, trace: ProcessTrace) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        text = line.strip().rstrip(b",")
        if text in (b"", b"[", b"]"):
            continue
        try:
            one = json.loads(text)
        except ValueError:
            one = None
        if not isinstance(one, dict):
            trace.cut = f"line {number} is damaged, and what follows is not read"
            return
        yield number, one


def _take(one: dict[str, Any], number: int, trace: ProcessTrace) -> None:
    try:
        if one["ph"] == "X":
            trace.events.append(_event(one))
        elif one["name"] == "swath_trace":
            _take_beginning(one["args"], trace)
        elif one["name"] == "swath_array":
            trace.arrays[str(one["args"]["key"])] = _traced_array(one["args"])
        elif one["name"] == "swath_operation":
            trace.operations[str(one["args"]["key"])] = _traced_operation(one["args"])
        elif one["name"] == "swath_trace_end":
            trace.ended = float(one["args"]["ended"]) * MICROSECONDS
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise FormatError(f"trace {trace.path}, line {number}: it is no line of a trace: {error!r}") from None


def _take_beginning(said: Mapping[str, Any], trace: ProcessTrace) -> None:
    trace.version, trace.ranks = int(said["version"]), int(said.get("ranks", 0))
    if trace.version not in VERSIONS:
        raise FormatError(
            f"trace {trace.path}: version {trace.version} of the format; this Swath reads "
            f"{', '.join(map(str, VERSIONS))}: install a newer one"
        )
    trace.rank = int(said["rank"])
    trace.command = str(said["command"])
    trace.process = int(said["process"])
    trace.began = float(said["began"]) * MICROSECONDS


def _traced_array(said: Mapping[str, Any]) -> TracedArray:
    return TracedArray(
        str(said["identity"]),
        tuple(int(length) for length in said["shape"]),
        int(said["element_bytes"]),
        base64.b64decode(said["form"], validate=True),
        int(said.get("stripe_bytes", 0)),
        int(said.get("servers", 0)),
    )


def _traced_operation(said: Mapping[str, Any]) -> TracedOperation:
    access, share = (base64.b64decode(said.get(name, ""), validate=True) for name in ("access", "share"))
    begin, end, count = (int(said.get(name, 0)) for name in ("begin", "end", "bytes"))
    return TracedOperation(str(said["array"]), str(said["words"]), access, share, begin, end, count)


def _event(said: Mapping[str, Any]) -> Event:
    return Event(
        str(said["name"]),
        str(said["cat"]),
        float(said["ts"]) * MICROSECONDS,
        float(said["dur"]) * MICROSECONDS,
        int(said["tid"]),
        said.get("args", {}),
    )


def is_operation(event: Event) -> bool:
    """Return whether the event is a read or write of an array, with its structure."""
    return "operation" in event.arguments


def operation(events: Sequence[tuple[ProcessTrace, Event]]) -> _core.Operation:
    """Return the operation of the events, exactly as it was carried out.

    Args:
        events: an event of each rank that took part, with its trace, in the order of the ranks. For a distribution one
            event is enough. For boxes and views each rank has recorded only its own.

    Raises:
        FormatError: the events belong to different operations.
    """
    trace, event = events[0]
    try:
        traced = [one.operations[event.arguments["operation"]] for one, event in events]
        form = trace.arrays[traced[0].array].form
    except KeyError:
        raise FormatError(f"trace {trace.path}: an event {event.name!r} without its operation") from None
    return _core.Operation.parse_parts(form, traced[0].access, [one.share for one in traced if one.share])
