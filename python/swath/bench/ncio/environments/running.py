"""Running a peer program: a session of its own, a watch over it, and what it left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from swath.bench import page_cache
from swath.bench.ncio.environments.making import Made, Run
from swath.bench.ncio.pattern import Pattern

HERE = os.path.dirname(os.path.abspath(__file__))
POLL_SECONDS = 0.2
SILENT_SECONDS = 120.0
"""How long a program may go without a sign of life, beside ten times the limit of an operation."""
SECONDS_TO_END = 5.0
WORDS_MAX = 300
LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDI_", "MPI_LOCAL", "PYTHON")
"""What no program may inherit: it would take itself for a rank of another job, or import from another Python."""


def run(
    made: Made, asked: Run, ranks: int, cells: Sequence[Mapping[str, Any]], options: Mapping[str, Any], folder: str
) -> tuple[dict[int, dict[str, Any]], str]:
    """What the program says of each cell, by the cell's index; and why it did not come to its end, or "".

    Whatever happens, no process of it is left behind.
    """
    folder = os.path.abspath(folder)  # the program works in it
    request_path, kept, said = (os.path.join(folder, name) for name in ("request.json", "kept.jsonl", "said.txt"))
    request = {
        "ranks": ranks,
        "contenders": asked.contenders,
        "cells": [
            {**_without_contenders(cell), "index": i, "pattern": pattern_of(cell)} for i, cell in enumerate(cells)
        ],
        "options": dict(options),
        "folder": folder,
        "kept": kept,
        "page_cache": page_cache.__file__,
    }
    with open(request_path, "w", encoding="utf-8") as file:
        json.dump(request, file)
    with open(kept, "w", encoding="utf-8"), open(said, "wb") as words:
        job = subprocess.Popen(
            _command(made, ranks, request_path),
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            cwd=folder,
            env=_settings(made, asked),
            start_new_session=True,
        )
        failed = _watch(job, kept, SILENT_SECONDS + 10 * options["limit_seconds"])
    with open(kept, encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines if line.endswith("\n")]
    if failed:
        reasons = [line["failed"] for line in found if "failed" in line]
        failed = f"{made.environment.name}: {failed}: {reasons[0] if reasons else _last_words(said)}"
    return {line["index"]: line for line in found if "index" in line}, failed


def pattern_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """What a program must know of a cell, so that it need not know what "nc-c" is."""
    pattern = Pattern(cell["ranks"], cell["region_count"], cell["region_bytes"], cell["spacing_bytes"], cell["case"])
    return {
        "file_shape": pattern.file_shape,
        "memory_shape": pattern.memory_shape,
        "units": pattern.units,
        "row_starts": [pattern.first_element(rank) // pattern.file_shape[1] for rank in range(pattern.ranks)],
        "row_step": pattern.ranks if pattern.file_spaced else 1,
    }


def _without_contenders(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if key != "contenders"}


def _command(made: Made, ranks: int, request: str) -> list[str]:
    program = f"peers.{made.environment.name}"
    if not made.environment.mpi:
        return [made.program("python"), "-m", program, request]
    # More ranks than cores is what is asked for; nobody is bound, as with the first MPI. `-m mpi4py` ends all ranks
    # when one fails.
    start = [made.program("mpiexec"), "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "-n", str(ranks)]
    return [*start, made.program("python"), "-m", "mpi4py", "-m", program, request]


def _settings(made: Made, asked: Run) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return {
        **inherited,
        "PATH": os.pathsep.join([os.path.join(made.folder, "bin"), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": HERE,
        "PYTHONDONTWRITEBYTECODE": "1",
        # Where Swath is tested it may be root; Open MPI wants to be told twice.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **asked.settings,
    }


def _watch(job: subprocess.Popen[bytes], kept: str, silent_seconds: float) -> str:
    """Waits for its end; why it was a bad one, or ""."""
    try:
        while job.poll() is None:
            time.sleep(POLL_SECONDS)
            if time.time() - os.stat(kept).st_mtime > silent_seconds:
                return f"no sign of life for {silent_seconds:.0f} s, ended"
    finally:
        _end(job)
    return "" if job.returncode == 0 else f"ended with status {job.returncode}"


def _end(job: subprocess.Popen[bytes]) -> None:
    """Its whole session: ranks have process groups of their own."""
    if job.poll() is None:
        job.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(SECONDS_TO_END)
    for process in _of_session(job.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    job.wait()


def _of_session(session: int) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.getsid(int(name)) == session:
                found.append(int(name))
    return found


def _last_words(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as said:
        return " ".join(said.read().split())[-WORDS_MAX:] or "it said nothing"
