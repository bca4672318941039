"""Events of Swath's traces in columns, by Arrow: the same log as by Python's own parser, also of damaged traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.trace import event_tables
from swath.trace.log import Log
from swath.trace.opening import read_log

COLUMNS = ("rank", "offset", "length", "began", "seconds", "failed", "collective")


def lines() -> list[bytes]:
    """A trace with all kinds of lines and members."""
    begin: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 3, "args": {"name": "rank 3"}},
        {
            "name": "swath_trace",
            "ph": "M",
            "pid": 3,
            "args": {"version": 1, "rank": 3, "process": 7, "command": "x", "began": 1e15},
        },
    ]
    found = [json.dumps(one, separators=(",", ":")) for one in begin]
    for means in ("prefetch", "recompute"):
        note = {"key": means, "identity": "a-0.npy", "means": means}
        found.append(
            json.dumps({"name": "swath_adaptive_file", "ph": "M", "pid": 3, "args": note}, separators=(",", ":"))
        )
    for at in range(40):
        key, array = f"{at % 3:016x}", f"{at % 2:016x}"
        if at < 3:
            args = {"key": array, "identity": f"a-{at}.npy", "shape": [4], "element_bytes": 4, "form": ""}
            found.append(json.dumps({"name": "swath_array", "ph": "M", "pid": 3, "args": args}, separators=(",", ":")))
            args = {"key": key, "array": array, "words": f"read {at}", "access": ""}
            found.append(
                json.dumps({"name": "swath_operation", "ph": "M", "pid": 3, "args": args}, separators=(",", ":"))
            )
        calls: list[tuple[str, str, dict[str, Any]]] = [
            ("read", "swath", {"operation": key, "rank": 0, "ranks": 1, "method": "sieve", "read_bytes": 100 + at}),
            ("read", "swath", {"operation": key, "rank": 1, "ranks": 4, "read_bytes": 1}),
            ("write", "swath", {"operation": key, "predicted_seconds": 0.5, "written_bytes": at, "read_bytes": 9}),
            ("write", "posix", {"path": '/ä "quoted"\n\\', "offset": 8 * at, "written_bytes": 8}),
            ("open", "posix", {"path": f"/b{at % 2}", "error": "No such file"}),
            ("read", "mpi-io", {"path": "/c", "function": "MPI_File_read", "collective": True, "begin": 1, "end": 9}),
            ("view", "mpi-io", {"path": "/c", "view": {"displacement": 0, "filetype": "3 x 8"}}),
            ("sync", "swath", {}),
        ]
        for number, (name, category, args) in enumerate(calls):
            one = {"name": name, "cat": category, "ph": "X", "pid": 3, "tid": 1, "ts": 1e15 + 10 * at + number}
            found.append(json.dumps({**one, "dur": 1.5, "args": args}, separators=(",", ":"), ensure_ascii=at % 2 == 0))
        track = {"name": "tokens held", "ph": "C", "pid": 3, "ts": 1e15, "args": {"value": at}}
        found.append(json.dumps(track, separators=(",", ":")))
    found.append('{"name":"swath_trace_end","ph":"M","pid":3,"args":{"lines":1,"ended":1000000000001000.0}}')
    return [b"[", *(line.encode() for line in found)]


def in_words(log: Log) -> list[Any]:
    """A log without the numbers of its files, kinds and operations."""
    requests = log.requests
    return [
        [log.kinds[kind] for kind in requests.kind],
        [log.files[file] if file >= 0 else "" for file in requests.file],
        [log.operations[key] if key >= 0 else "" for key in requests.operation],
        *(getattr(requests, name).tolist() for name in COLUMNS),
        np.nan_to_num(requests.predicted, nan=-1).tolist(),
        log.adaptive,
        (log.notes, log.complete, log.ranks, log.execution_seconds, log.command),
    ]


def read_or_refused(file: Path) -> list[Any] | str:
    try:
        return in_words(read_log(str(file)))
    except swath.FormatError as error:
        return str(error)


def both_ways(file: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any] | str, list[Any] | str]:
    """What is read by Arrow, and without it."""
    by_arrow = read_or_refused(file)
    with monkeypatch.context() as patched:
        patched.setattr(event_tables, "is_available", lambda: False)
        return by_arrow, read_or_refused(file)


@pytest.fixture(autouse=True)
def _needs_arrow() -> None:
    pytest.importorskip("pyarrow")


@pytest.mark.parametrize("block_bytes", [1, 700, 10_000, 1 << 20])
def test_arrow_reads_what_python_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    file = tmp_path / "rank-000003-x-7.pfw"
    file.write_bytes(b"\n".join([*lines(), b""]))
    monkeypatch.setattr(event_tables, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr("swath.trace.lines.CHUNK_BYTES", max(block_bytes, 64))
    by_arrow, without = both_ways(file, monkeypatch)
    assert by_arrow == without
    assert not isinstance(by_arrow, str)
    assert len(by_arrow[0]) == 40 * 8
    assert by_arrow[-2] == {"a-0.npy": {"prefetch", "recompute"}}
    assert sum(by_arrow[3 + COLUMNS.index("collective")]) == 2 * 40


def test_arrow_parses_whole_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rank-000003-x-7.pfw"
    file.write_bytes(b"\n".join([*lines(), b""]))
    monkeypatch.setattr("swath.trace.chrome_events._take_block", lambda *_: pytest.fail("a block was refused"))
    assert len(read_log(str(file)).requests) == 40 * 8


def test_damaged_lines_are_read_or_refused_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rank-000003-x-7.pfw"
    text = b"\n".join([*lines()[:40], b""])
    random = np.random.default_rng(8)
    for _ in range(500):
        damaged = bytearray(text)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(2, len(damaged))] = random.integers(256)
        file.write_bytes(damaged)
        by_arrow, without = both_ways(file, monkeypatch)
        assert by_arrow == without, damaged
