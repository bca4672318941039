"""The number of ranks of a traced run is that of its launcher, not the number of processes with a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swath.trace.opening import read_log

BEGAN, SECOND = 1_700_000_000_000_000.0, 1e6


def write_trace(folder: Path, process: int, *, ends: bool = True, **said: Any) -> None:
    """A trace of a process that runs for two seconds and opens a file."""
    rank = said.get("rank", 0)
    head = {"version": 1, "rank": rank, "process": process, "command": f"./program {process}", "began": BEGAN, **said}
    event = {"cat": "posix", "ph": "X", "pid": rank, "tid": process, "ts": BEGAN, "dur": 10.0, "args": {"path": "/a"}}
    lines: list[dict[str, Any]] = [
        {"name": "swath_trace", "ph": "M", "pid": rank, "args": head},
        {"name": "open", **event},
    ]
    if ends:
        ended = {"lines": 1, "ended": BEGAN + 2 * SECOND}
        lines.append({"name": "swath_trace_end", "ph": "M", "pid": rank, "args": ended})
    (folder / f"rank-{rank:06}-here-{process}.pfw").write_text("[\n" + "\n".join(map(json.dumps, lines)) + "\n")


def test_a_launcher_is_no_rank_and_silent_ranks_count(tmp_path: Path) -> None:
    write_trace(tmp_path, 1, ends=False)  # the launcher, which is killed at the end
    write_trace(tmp_path, 2, rank=0, ranks=4)
    write_trace(tmp_path, 3, rank=2, ranks=4)
    log = read_log(str(tmp_path))
    assert (log.ranks, log.has_mpi, log.command) == (4, True, "./program 2")
    assert log.execution_seconds == pytest.approx(8)
    assert (log.complete, log.notes) == (True, [])


def test_processes_without_a_launcher_are_no_ranks_of_mpi(tmp_path: Path) -> None:
    write_trace(tmp_path, 1)
    write_trace(tmp_path, 2, ends=False)
    log = read_log(str(tmp_path))
    assert (log.ranks, log.has_mpi, log.complete) == (2, False, False)
