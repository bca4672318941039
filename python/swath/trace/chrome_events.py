"""Converts traces with one Chrome event a line into logs: the traces of Swath, and those of DFTracer."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from swath.errors import FormatError, StoreError
from swath.trace import event_tables
from swath.trace.event_tables import EventTable, Words
from swath.trace.lines import Lines
from swath.trace.log import OPENS, UNKNOWN, Indices, Kind, Log, Requests, joined, requests_of
from swath.trace.positions import positions
from swath.trace.reading import MICROSECONDS, VERSIONS, why_cut

BLOCK_LINES = 512
EVENTS = ("X", 1)
"""The type of an event with a duration in Chrome's format; DFTracer 2 writes a number."""
APPENDS = 0o2000
"""O_APPEND of Linux: the position after such an open is not known."""
DAMAGED = (KeyError, TypeError, ValueError, OverflowError, AttributeError)
LAYERS = {"POSIX": "posix", "STDIO": "stdio", "MPI": "mpi-io", "MPIIO": "mpi-io", "HDF5": "hdf5"}
OF_DFTRACER = (b'"dftracer"', b'"hhash"', b'"fhash"', b'"hostname"')
"""Words that are in lines of DFTracer, and not in lines of Swath."""
BYTES_MAX = 1 << 56
"""The largest valid length or offset: an event with a larger one is damaged."""
SECONDS_MAX = 1e11
DEFINITION = b'{"name":"swath_'
"""The begin of the lines of Swath's that are no events, as Swath writes them."""
BYTES = {"read": "read_bytes", "write": "written_bytes", "copy": "written_bytes"}
"""The counter of the bytes that an event of Swath moved."""
Object = Mapping[str, Any]


class Reader(Protocol):
    """Collects the lines of traces, block by block."""

    def take_metadata(self, said: Object) -> None:
        """Take a line that is not an event."""

    def take_events(self, events: Sequence[Object]) -> None:
        """Take events."""


class Kinds(dict[tuple[str, str], int]):
    """Assigns numbers to kinds of calls, by the category and the name of events."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: list[Kind] = []

    def __missing__(self, said: tuple[str, str]) -> int:
        category, name = map(str, said)
        kind = Kind(LAYERS.get(category, category), name.removesuffix("64"))
        if kind not in self.listed:
            self.listed.append(kind)
        self[said] = self.listed.index(kind)
        return self[said]


class SwathReader:
    """Reads traces of Swath (docs/formats/trace.md)."""

    def __init__(self) -> None:
        self.files, self.kinds, self.operations = Indices(), Kinds(), Indices()
        self.arrays: dict[str, str] = {}
        self.words: dict[int, str] = {}
        self.file_of_key: dict[int, int] = {}
        self.adaptive: dict[str, set[str]] = {}
        self.parts: list[Requests] = []
        self.version, self.ended, self.command = 0, 0.0, ""
        self.rank, self.ranks, self.process, self.began = 0, 0, 0, 0.0

    def take_metadata(self, said: Object) -> None:
        """Take facts about the trace, an array, or an operation."""
        name, args = said["name"], said.get("args") or {}
        if name == "swath_trace":
            self.version, self.command = int(args["version"]), str(args["command"])
            self.rank, self.process = int(args["rank"]), int(args["process"])
            self.ranks = int(args.get("ranks", 0))
            self.began = float(args["began"]) * MICROSECONDS
            if self.version not in VERSIONS:
                raise FormatError(f"version {self.version} of the format; this Swath reads {VERSIONS}: install a newer")
        elif name == "swath_array":
            self.arrays[args["key"]] = str(args["identity"])
        elif name == "swath_operation":
            key = self.operations[args["key"]]
            self.words[key] = str(args["words"])
            self.file_of_key[key] = self.files[self.arrays[args["array"]]]
        elif name == "swath_adaptive_file":
            self.adaptive.setdefault(str(args["identity"]), set()).add(str(args["means"]))
        elif name == "swath_trace_end":
            self.ended = float(args["ended"]) * MICROSECONDS

    def take_table(self, table: EventTable) -> None:
        """Take calls that were parsed into columns. Raises ValueError if a number is not valid."""
        names = table.name.different
        pairs, first, which = np.unique(
            table.category.rows * len(names) + table.name.rows, return_index=True, return_inverse=True
        )
        kinds = np.zeros(len(pairs), np.int64)
        for at in np.argsort(first):  # in the order of their first event
            category, name = divmod(int(pairs[at]), len(names))
            kinds[at] = self.kinds[table.category.different[category], names[name]]
        moved = np.zeros(len(which), np.int64)
        for index, counter in ((index, BYTES.get(name)) for index, name in enumerate(names)):
            if counter is not None:
                counts = table.read_bytes if counter == "read_bytes" else table.written_bytes
                np.copyto(moved, counts, where=table.name.rows == index)
        keys = _numbered(self.operations, table.operation)
        files = self._files_of_operations(keys)
        paths = _numbered(self.files, table.path)
        self.parts.append(
            requests_of(
                len(which),
                kind=kinds[which],
                file=np.where(paths >= 0, paths, files),
                rank=table.rank,
                operation=keys,
                offset=_byte_counts(table.offset),
                length=_byte_counts(moved),
                began=_seconds(table.began),
                seconds=_seconds(table.seconds),
                predicted=table.predicted,
                failed=table.failed,
                collective=table.collective,
            )
        )

    def take_events(self, events: Sequence[Object]) -> None:
        """Take calls."""
        args = [one.get("args") or {} for one in events]
        names = [one["name"] for one in events]
        keys = [self.operations[one["operation"]] if "operation" in one else UNKNOWN for one in args]
        self.parts.append(
            requests_of(
                len(events),
                kind=[self.kinds[one["cat"], name] for one, name in zip(events, names, strict=True)],
                file=self._files(args, np.array(keys)),
                rank=[one["pid"] for one in events],
                operation=keys,
                offset=_byte_counts([one.get("offset", UNKNOWN) for one in args]),
                length=_byte_counts([one.get(BYTES.get(name, ""), 0) for one, name in zip(args, names, strict=True)]),
                began=_seconds([one["ts"] for one in events]),
                seconds=_seconds([one["dur"] for one in events]),
                predicted=[one.get("predicted_seconds", np.nan) for one in args],
                failed=["error" in one for one in args],
                collective=[bool(one.get("collective", False)) or int(one.get("ranks") or 1) > 1 for one in args],
            )
        )

    def _files(self, args: Sequence[Object], keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        files = self._files_of_operations(keys)
        for row, one in enumerate(args):
            if "path" in one:
                files[row] = self.files[str(one["path"])]
        return files

    def _files_of_operations(self, keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        of_keys = [self.file_of_key.get(key, UNKNOWN) for key in range(len(self.operations))]
        found: np.ndarray[Any, Any] = np.array([*of_keys, UNKNOWN])[keys]  # the last one belongs to UNKNOWN
        return found


def _numbered(indices: Indices, words: Words) -> np.ndarray[Any, Any]:
    """Return the index of each row's text; UNKNOWN if it has none."""
    numbers = np.array([*(indices[text] for text in words.different), UNKNOWN])
    found: np.ndarray[Any, Any] = numbers[words.rows]
    return found


def _byte_counts(values: Any) -> np.ndarray[Any, Any]:
    """Return offsets or lengths. Raises ValueError if one is invalid."""
    counts = np.array(values, np.int64)
    if counts.ndim != 1 or (len(counts) and (counts.min() < UNKNOWN or counts.max() > BYTES_MAX)):
        raise ValueError("an offset or a length that no file has")
    return counts


def _seconds(values: Any) -> np.ndarray[Any, Any]:
    """Convert microseconds to seconds. Raises ValueError if one is invalid."""
    seconds = np.array(values, np.float64) * MICROSECONDS
    if not np.isfinite(seconds).all() or (len(seconds) and (seconds.min() < 0 or seconds.max() > SECONDS_MAX)):
        raise ValueError("a time that cannot be")
    return seconds


class DFTracerReader:
    """Reads traces of DFTracer: events of version 1 hold names of files, those of version 2 hold keys (`FH`)."""

    def __init__(self) -> None:
        self.files, self.kinds, self.processes = Indices(), Kinds(), Indices()
        self.names: dict[str, str] = {}
        self.command = ""
        self.parts: list[Requests] = []
        self.put: list[np.ndarray[Any, Any]] = []

    def take_metadata(self, said: Object) -> None:
        """Take the name of a file (`FH`) or of a command (`SH`)."""
        args = said.get("args") or {}
        if said.get("name") in ("FH", "SH"):
            self.names[args["value"]] = str(args["name"])

    def take_events(self, events: Sequence[Object]) -> None:
        """Take calls, except those of the tracer itself."""
        for one in events:
            if one["cat"] == "dftracer" and one["name"] == "start":
                self.command = self.names.get((one.get("args") or {}).get("cmd_hash", ""), "").replace(";", " ")
        calls = [one for one in events if one["cat"] != "dftracer"]
        args = [one.get("args") or {} for one in calls]
        kinds = [self.kinds[one["cat"], one["name"]] for one in calls]
        named = [self.kinds.listed[kind] for kind in kinds]
        results = [int(one.get("ret", one.get("count", 0))) for one in args]
        puts = [_put(kind.name, result, one) for kind, result, one in zip(named, results, args, strict=True)]
        moving = [kind.direction != "" for kind in named]
        part = requests_of(
            len(calls),
            kind=kinds,
            file=[self._file(one) for one in args],
            rank=[self.processes[int(one["pid"])] for one in calls],
            offset=_byte_counts(
                [one.get("offset", UNKNOWN) if moves else UNKNOWN for one, moves in zip(args, moving, strict=True)]
            ),
            length=_byte_counts(
                [max(result, 0) if moves else 0 for result, moves in zip(results, moving, strict=True)]
            ),
            began=_seconds([one["ts"] for one in calls]),
            seconds=_seconds([one["dur"] for one in calls]),
            failed=[result < 0 for result in results],
        )
        self.parts.append(part)
        self.put.append(np.array(puts, np.int64))

    def _file(self, args: Object) -> int:
        name = args.get("fname") or args.get("fhash")
        return UNKNOWN if name is None else self.files[str(name)]


def _put(name: str, result: int, args: Object) -> int:
    """Return the file position that a call sets; UNKNOWN if it is not known, less than UNKNOWN if it sets none."""
    if name in OPENS:
        appends = int(args.get("flags", 0)) & APPENDS or "a" in str(args.get("mode", ""))
        return UNKNOWN if appends else 0
    if "seek" in name:
        return result if "ret" in args and result >= 0 and name.startswith("l") else UNKNOWN
    return UNKNOWN - 1


def read_chrome_events(path: str, files: Sequence[str]) -> Log:
    """Return the log of a run from the traces of its processes.

    Args:
        path: the path of the run, for errors and for the log.
        files: the paths of its traces.

    Raises:
        StoreError: the system refuses to read one.
        FormatError: one is not a trace.
    """
    if _is_of_swath(files[0]):
        return _swath_log(path, files)
    return _dftracer_log(path, files)


def _is_of_swath(file: str) -> bool:
    with _opened(file) as stored:
        for number, line in enumerate(Lines(stored)):
            if b'"swath_trace"' in line or number > BLOCK_LINES:
                return number <= BLOCK_LINES
            if any(mark in line for mark in OF_DFTRACER):
                return False
    return os.path.basename(file).startswith("rank-")


@contextlib.contextmanager
def _opened(file: str) -> Iterator[Any]:
    try:
        with open(file, "rb") as stored:
            yield stored
    except OSError as error:
        raise StoreError(f"trace {file}: {error.strerror}", error.errno or 0) from None


def _swath_log(path: str, files: Sequence[str]) -> Log:
    reader = SwathReader()
    log = Log(path, "Swath")
    spans: dict[tuple[int, int], tuple[float, float]] = {}  # of each process; one may have several files
    commands: dict[tuple[int, int], str] = {}  # of ranks of MPI
    cuts: list[tuple[str, int]] = []  # with the number of ranks that the trace says
    ranks = 0
    for file in files:
        reader.version, reader.process, reader.ranks, reader.ended = 0, 0, 0, 0.0
        first = len(reader.parts)
        cut = _read_lines(file, reader)
        cut = why_cut(file, reader.version, reader.ended, cut)
        if cut:
            cuts.append((f"{file}: not complete: {cut}", reader.ranks))
        parts = [part for part in reader.parts[first:] if len(part)]
        began = min([reader.began or np.inf, *(float(part.began.min()) for part in parts)])
        if np.isfinite(began):
            ended = max([began, reader.ended, *(float(part.ended.max()) for part in parts)])
            process = (reader.rank, reader.process)
            earlier = spans.get(process, (began, ended))
            spans[process] = (min(began, earlier[0]), max(ended, earlier[1]))
            if reader.ranks:
                ranks, commands[process] = max(ranks, reader.ranks), reader.command
    run_began = min((began for began, _ in spans.values()), default=0.0)
    log.has_mpi = ranks > 0
    log.notes.extend(note for note, of_ranks in cuts if of_ranks or not ranks)
    if log.has_mpi:  # the launcher is no rank, and a rank that used no file has no trace
        spans = {process: span for process, span in spans.items() if process in commands}
    together = sum(ended - began for began, ended in spans.values())
    log.command, log.ranks = next(iter(commands.values()), reader.command), ranks or max(len(spans), 1)
    log.execution_seconds = together * log.ranks / max(len(spans), 1) if log.has_mpi else together
    log.files = [str(name) for name in reader.files]
    log.kinds, log.adaptive = reader.kinds.listed, reader.adaptive
    log.operations = [reader.words.get(index, "") for index in range(len(reader.operations))]
    return _finished(log, reader.parts, run_began)


def _dftracer_log(path: str, files: Sequence[str]) -> Log:
    reader = DFTracerReader()
    log = Log(path, "DFTracer")
    for file in files:
        cut = _read_lines(file, reader)
        if cut:
            log.notes.append(f"{file}: not complete: {cut}")
        elif not os.path.getsize(file):
            log.notes.append(f"{file}: it is empty: the process was killed, or has traced nothing")
    log.command, log.ranks = reader.command, len(reader.processes)
    log.files = [reader.names.get(str(name), str(name)) for name in reader.files]
    log.kinds = reader.kinds.listed
    log.notes.append("DFTracer knows processes, not ranks: they are numbered as they come")
    requests = joined(reader.parts)
    if len(requests):
        put = np.concatenate(reader.put)
        requests.offset = _offsets(log, requests, put)
        log.execution_seconds = sum(
            float(requests.ended[of].max() - requests.began[of].min())
            for of in (requests.rank == rank for rank in range(log.ranks))
            if of.any()
        )
    return _finished(log, [requests], float(requests.began.min()) if len(requests) else 0.0)


def _offsets(log: Log, requests: Requests, put: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return all offsets: recorded ones, and those that follow from opens, seeks and lengths."""
    order = np.lexsort((requests.began, requests.file, requests.rank))
    at = requests.take(order)
    names = np.array([kind.name for kind in log.kinds])
    moves_position = np.array([kind.direction != "" and not kind.name.startswith("p") for kind in log.kinds])
    steps = np.isin(names, list(OPENS)).astype(np.int64) - np.char.endswith(names, "close").astype(np.int64)
    advances = moves_position[at.kind] & (at.offset == UNKNOWN)
    group = at.rank.astype(np.int64) * (len(log.files) + 1) + at.file
    before = positions(group, put[order], np.where(advances, at.length, 0), steps[at.kind])
    found = np.where(advances & (at.file >= 0), before, at.offset)
    offsets = np.empty(len(requests), np.int64)
    offsets[order] = found
    return offsets


def _finished(log: Log, parts: list[Requests], began: float) -> Log:
    log.requests = joined(parts)
    parts.clear()
    log.requests.began -= began
    log.began = began
    log.complete = not any("not complete" in note for note in log.notes)
    if not len(log.requests):
        log.notes.append("it is empty: no call is recorded")
    return log


def _read_lines(file: str, reader: Reader) -> str:
    """Take all lines of a trace. Return why more lines may be missing; "" if it was read to its end."""
    with _opened(file) as stored:
        lines = Lines(stored)
        if isinstance(reader, SwathReader) and event_tables.is_available():
            return _read_blocks(file, reader, lines)
        number = 0
        block: list[bytes] = []
        for line in lines:
            number += 1
            block.append(line)
            if len(block) == BLOCK_LINES:
                cut = _take_block(file, block, number, reader)
                if cut:
                    return cut
                block = []
        return _take_block(file, block, number, reader) or lines.cut


def _read_blocks(file: str, reader: SwathReader, lines: Lines) -> str:
    """Do the same with the columns of many events at a time."""
    number = 0
    for text in lines.blocks(event_tables.BLOCK_BYTES):
        count = text.count(b"\n")
        number += count
        if _take_table(text, count, reader):
            continue
        of_text = text.split(b"\n")[:count]
        for first in range(0, count, BLOCK_LINES):
            block = of_text[first : first + BLOCK_LINES]
            cut = _take_block(file, block, number - count + first + len(block), reader)
            if cut:
                return cut
    return lines.cut


def _take_table(text: bytes, count: int, reader: SwathReader) -> bool:
    """Take whole lines, and return whether that worked. Definitions are taken before events."""
    if text.startswith(b"[\n"):  # the first line of a trace
        text, count = text[2:], count - 1
    with contextlib.suppress(FormatError, RecursionError, *DAMAGED):
        definitions: list[Object] = []
        if DEFINITION in text:
            lines = text.split(b"\n")
            definitions = json.loads(b"[" + b",".join(line for line in lines if line.startswith(DEFINITION)) + b"]")
            text = b"\n".join(line for line in lines if not line.startswith(DEFINITION))
        if any(one["ph"] in EVENTS for one in definitions):
            return False
        table = event_tables.event_table(text, count - len(definitions))
        if table is not None:
            for one in definitions:
                reader.take_metadata(one)
            reader.take_table(table)
            return True
    return False


def _take_block(file: str, block: Sequence[bytes], last: int, reader: Reader) -> str:
    """Parse all lines at once. If that fails, parse them one by one, up to the damaged line."""
    if _take_at_once(block, reader):
        return ""
    numbered = [
        (number, text)
        for number, line in enumerate(block, last - len(block) + 1)
        if (text := line.strip().rstrip(b",")) not in (b"", b"[", b"]")
    ]
    for number, text in numbered:
        try:
            one = json.loads(text)
        except (ValueError, RecursionError):
            return f"line {number} is damaged, and what follows is not read"
        _take_one(file, number, one, reader)
    return ""


def _take_at_once(block: Sequence[bytes], reader: Reader) -> bool:
    """Parse all lines at once, and return whether that worked."""
    if block and block[0] == b"[":  # the first line of a trace
        block = block[1:]
    with contextlib.suppress(FormatError, RecursionError, *DAMAGED):
        objects = json.loads(b"[" + b",".join(block) + b"]")
        if len(objects) == len(block) and all(type(one) is dict for one in objects):
            _take(objects, reader)
            return True
    return False


def _take_one(file: str, number: int, one: Any, reader: Reader) -> None:
    try:
        if type(one) is not dict:
            raise TypeError("not an object")
        _take([one], reader)
    except FormatError as error:
        raise FormatError(f"trace {file}, line {number}: {error}") from None
    except DAMAGED as error:
        raise FormatError(f"trace {file}, line {number}: it is no line of a trace: {error!r}") from None


def _take(objects: Sequence[Object], reader: Reader) -> None:
    events = [one for one in objects if one["ph"] in EVENTS]
    if len(events) < len(objects):
        for one in objects:
            if one["ph"] not in EVENTS:
                reader.take_metadata(one)
    if events:
        reader.take_events(events)
