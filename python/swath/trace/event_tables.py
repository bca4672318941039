"""Parses many events of Swath's traces at once, by Arrow where it is installed: in a third of the time.

What Arrow does not take as it is (a damaged line, a member of another type) is left to the caller's own parser.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

BLOCK_BYTES = 1 << 20
PARSED_BYTES_MAX = 1 << 24
"""Arrow refuses a line that is longer than this."""
MEMBERS_OF_ARGS = (
    "operation",
    "path",
    "offset",
    "read_bytes",
    "written_bytes",
    "predicted_seconds",
    "error",
    "ranks",
    "collective",
)
TEXTS = ("operation", "path", "error")


class Words(NamedTuple):
    """A column of texts: the different ones in the order of their first row, and the index of each row; -1: no text."""

    different: list[str]
    rows: npt.NDArray[np.int64]


class EventTable(NamedTuple):
    """Events in columns. Members that an event lacks: no text, offset -1, 0 bytes, and NaN for `predicted`.

    `collective` is true of operations of several ranks, and of calls that say so.
    """

    name: Words
    category: Words
    rank: npt.NDArray[np.int64]
    began: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    """Both are microseconds, as in the trace."""
    operation: Words
    path: Words
    offset: npt.NDArray[np.int64]
    read_bytes: npt.NDArray[np.int64]
    written_bytes: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.float64]
    failed: npt.NDArray[np.bool_]
    collective: npt.NDArray[np.bool_]


@functools.cache
def _arrow() -> Any:
    """Return the modules and the options of the parser; None without the package pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import compute, json
    except ImportError:
        return None
    kinds = {"offset": pa.int64(), "read_bytes": pa.int64(), "written_bytes": pa.int64()}
    kinds |= {"ranks": pa.int64(), "collective": pa.bool_(), "predicted_seconds": pa.float64()} | dict.fromkeys(
        TEXTS, pa.string()
    )
    args = pa.struct([(name, kinds[name]) for name in MEMBERS_OF_ARGS])
    columns = [("name", pa.string()), ("cat", pa.string()), ("ph", pa.string()), ("pid", pa.int64())]
    schema = pa.schema([*columns, ("ts", pa.float64()), ("dur", pa.float64()), ("args", args)])
    parse = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    read = json.ReadOptions(use_threads=False, block_size=PARSED_BYTES_MAX)
    return pa, compute, json, parse, read


def is_available() -> bool:
    """Return whether Arrow is installed."""
    return _arrow() is not None


def event_table(text: bytes, lines: int) -> EventTable | None:
    """Return the events of whole lines, without the curves among them.

    Return None if Arrow does not parse all lines, or if there is a definition among them.
    """
    pa, compute, json, parse, read = _arrow()
    try:
        if not text.isascii():
            text.decode()  # Arrow does not check it
        table = json.read_json(pa.BufferReader(text), read_options=read, parse_options=parse)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != lines or table["ph"].null_count or table["name"].null_count:
        return None
    is_event = compute.equal(table["ph"], "X")
    if compute.any(compute.and_not(compute.starts_with(table["name"], "swath_"), is_event)).as_py():
        return None
    table = table.filter(is_event).combine_chunks()
    if any(table[name].null_count for name in ("cat", "pid", "ts", "dur")):
        return None
    args = table["args"].combine_chunks()
    member = dict(zip(MEMBERS_OF_ARGS, args.flatten(), strict=True))
    words = {one: _words(table[one].combine_chunks()) for one in ("name", "cat")}
    words |= {one: _words(member[one]) for one in ("operation", "path")}
    return EventTable(
        name=words["name"],
        category=words["cat"],
        rank=table["pid"].to_numpy(),
        began=table["ts"].to_numpy(),
        seconds=table["dur"].to_numpy(),
        operation=words["operation"],
        path=words["path"],
        offset=_numbers(member["offset"], -1),
        read_bytes=_numbers(member["read_bytes"], 0),
        written_bytes=_numbers(member["written_bytes"], 0),
        predicted=_numbers(member["predicted_seconds"], float("nan")),
        failed=member["error"].is_valid().to_numpy(zero_copy_only=False),
        collective=(_numbers(member["ranks"], 1) > 1) | _numbers(member["collective"], False).astype(bool),
    )


def _numbers(column: Any, missing: float) -> Any:
    return column.fill_null(missing).to_numpy(zero_copy_only=False)


def _words(column: Any) -> Words:
    encoded = column.dictionary_encode()
    return Words(encoded.dictionary.to_pylist(), _numbers(encoded.indices, -1).astype(np.int64))
