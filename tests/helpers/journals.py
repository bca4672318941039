"""Undo journals by the format of docs/formats/undo-journal.md, read and written without Swath."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

START, BYTES, ADDED, REPLACED, MARK, SETTLED = range(6)

_HEAD = struct.Struct("<BQQI")
HEAD_BYTES = _HEAD.size


class Record(NamedTuple):
    """One record."""

    kind: int
    place: int
    data: bytes


def to_bytes(records: Iterable[Record]) -> bytes:
    """Return the records one after the other."""
    pieces = []
    for kind, place, data in records:
        known = _HEAD.pack(kind, place, len(data), 0)
        pieces.append(_HEAD.pack(kind, place, len(data), zlib.crc32(known + data)) + data)
    return b"".join(pieces)


def records_in(journal: bytes) -> list[Record]:
    """Return the records, which must all be complete."""
    found = []
    at = 0
    while at < len(journal):
        kind, place, count, checksum = _HEAD.unpack_from(journal, at)
        record = Record(kind, place, journal[at + _HEAD.size : at + _HEAD.size + count])
        assert len(record.data) == count
        assert zlib.crc32(_HEAD.pack(kind, place, count, 0) + record.data) == checksum
        found.append(record)
        at += _HEAD.size + count
    return found


def as_if_machine_had_stopped(path: str) -> int:
    """Change the checkpoints to another boot of the machine; return the number of changed records."""
    file = Path(path)
    records = records_in(file.read_bytes())
    stopped = [one._replace(data=b"another" + one.data[7:]) if one.kind == SETTLED else one for one in records]
    file.write_bytes(to_bytes(stopped))
    return sum(one.kind == SETTLED for one in records)


def with_start(path: str, said: Any) -> None:
    """Replace the JSON in the first record of a journal."""
    file = Path(path)
    _, *others = records_in(file.read_bytes())
    file.write_bytes(to_bytes([start(said), *others]))


def start(said: Any) -> Record:
    """Return a first record, as Python's json writes it."""
    return Record(START, 0, json.dumps(said).encode())


def start_of(path: str, size: int) -> Record:
    """Return the first record of a journal of this file, without the creation time."""
    return start({"swath": 1, "file": os.stat(path).st_ino, "born": None, "size": size, "journal": None})
