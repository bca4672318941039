"""Logs for replays, written by hand as DFTracer writes them; and what a replay did, from its own trace."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swath.replay import scratch
from swath.replay.actions import UNKNOWN, Action, File, Run
from swath.trace.reading import Event, ProcessTrace, read_trace

SWATH = [sys.executable, "-m", "swath.commands.cli"]
WAIT_SECONDS_MAX = 60
"""The longest time that a test waits for a process."""
SECONDS = 1e-3
"""How long each call of a log takes."""
SCRATCH = re.compile(r"/\.swath-replay-[^/]+/\d+-([^/]+)$")


@dataclass(frozen=True)
class Call:
    """A call of a log.

    Attributes:
        name: "open", "read", "pread", "pwrite", "lseek", "fsync", "close", ….
        path: the file.
        began: its begin, in seconds.
        result: what it returned: the moved bytes, or a position.
        offset: the offset of a pread or a pwrite.
    """

    name: str
    path: str
    began: float
    result: int = 0
    offset: int | None = None


def write_log(folder: Path, ranks: Sequence[Sequence[Call]]) -> str:
    """Write a log with a file for each process; return its folder."""
    log = folder / "log"
    log.mkdir(parents=True)
    for rank, calls in enumerate(ranks):
        lines = ["["]
        for number, call in enumerate(calls):
            args = {"hhash": "1", "fname": call.path, "ret": call.result, "flags": 0}
            if call.offset is not None:
                args["offset"] = call.offset
            event = {"id": number, "name": call.name, "cat": "POSIX", "pid": rank + 10, "tid": rank + 10, "ph": "X"}
            lines.append(json.dumps({**event, "ts": 1e6 + call.began * 1e6, "dur": SECONDS * 1e6, "args": args}))
        (log / f"{rank}.pfw").write_text("\n".join(lines) + "\n")
    return str(log)


def rank_traces(folder: Path) -> list[ProcessTrace]:
    """Return the traces of the ranks of a replay, with their events on scratch files alone."""
    traces = [one for one in read_trace(str(folder)) if "swath.replay.rank" in one.command]
    for one in traces:
        one.events = [event for event in one.events if SCRATCH.search(str(event.arguments.get("path", "")))]
    return [one for one in traces if one.events]


def call_of(event: Event) -> tuple[str, str, int | None, int]:
    """Return the name of a call, its file, its offset and its bytes."""
    path = str(event.arguments["path"])
    scratch = SCRATCH.search(path)
    moved = event.arguments.get("read_bytes", 0) + event.arguments.get("written_bytes", 0)
    return event.name, scratch[1] if scratch else Path(path).name, event.arguments.get("offset"), moved


def call(name: str, offset: int = UNKNOWN, length: int = 0, gap: float = 0.0, file: int = 0, phase: int = 0) -> Action:
    """Return a file call of a run, of one second."""
    return Action(name, "posix", file, offset, length, gap, seconds=1.0, phase=phase)


def run_of(*ranks: Sequence[Action], operations: tuple[bytes, ...] = ()) -> Run:
    """Return a run of two files, with the actions of each rank."""
    phases = tuple((float(at), at + 0.5) for at in range(2))
    files = (File("/d/a", 100, 100), File("/d/b"))
    return Run("run", "Swath", "", tuple(map(tuple, ranks)), files, operations, phases=phases)


def said(actions: Sequence[Action]) -> list[tuple[str, int, int]]:
    """Return the name, offset and length of each action."""
    return [(one.name, one.offset, one.length) for one in actions]


def gaps(actions: Sequence[Action]) -> float:
    """Return the seconds that the rank computes."""
    return sum(one.gap for one in actions)


def left_over(store: Path) -> list[str]:
    """Return the folders of replays that are still in a store."""
    return [name for name in os.listdir(store) if name.startswith(scratch.PREFIX)]
