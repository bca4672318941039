"""Starting the program: for each cell without and with the drop-in, in turn, round after round."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from swath.mpi_io import preload
from swath.store.standalone import page_cache
from swath_bench import launch
from swath_bench.launch import BenchmarkFailedError
from swath_bench.measure import shuffled
from swath_bench.mpi_io.cells import CASES, Cell, Options, cells_of, left_out
from swath_bench.mpi_io.compiling import Program, compile_program

WITHOUT, WITH = "without", "with"
CONTENDERS = (WITHOUT, WITH)
SETTINGS = {
    # All ranks are on this machine, no ssh. If the MPI can do it, a waiting rank yields to others. MPICH over UCX
    # has no such setting: with more ranks than cores its ranks take the processor from each other.
    "HYDRA_LAUNCHER": "fork",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
"""Environment of both contenders, for variables that are not set."""
SAID_MAX = 600


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure all cells; `keep` gets the results after each cell.

    Raises BenchmarkFailedError if the program with the drop-in fails or moves wrong data; without it, it is refused.
    """
    folder = os.path.abspath(folder)
    program = compile_program(options.mpicc, folder)
    result: dict[str, Any] = {
        "left_out": left_out(options),
        "cells": [{**vars(cell), "runs": [], "refused": {}} for cell in cells_of(options)],
        "cached_bytes": None,
        "conditions": {"mpiexec": program.mpiexec, "settings": SETTINGS},
    }
    with _busy_cores() if options.busy else contextlib.nullcontext():
        _measure_rounds(program, options, folder, result, keep)
    return result


def _measure_rounds(
    program: Program, options: Options, folder: str, result: dict[str, Any], keep: Callable[[dict[str, Any]], None]
) -> None:
    for number in range(options.rounds):
        for cell, told in zip(cells_of(options), result["cells"], strict=True):
            for contender in shuffled(CONTENDERS, number):
                if contender not in told["refused"]:
                    launch.say(
                        "mpi-io", f"round {number + 1} of {options.rounds}: {cell.name}, {contender} the drop-in"
                    )
                    run = _run(program, cell, contender, options, folder)
                    _add(told, contender, number, run)
            keep(result)


@contextlib.contextmanager
def _busy_cores() -> Iterator[None]:
    """Run a busy loop on each core that this process may use, until this process ends."""
    loop_program = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    command = [sys.executable, "-S", "-c", loop_program]
    loops = [subprocess.Popen(command) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _add(told: dict[str, Any], contender: str, number: int, run: dict[str, Any]) -> None:
    if "refused" not in run:
        told["runs"].append({"contender": contender, "round": number, **run})
        return
    if contender == WITH:
        name = f"{told['case']}, {told['access']} {told['direction']}, {told['ranks']} ranks"
        raise BenchmarkFailedError(f"mpi-io: {name}, with the drop-in: {run['refused']}")
    told["refused"][contender] = run["refused"]


def _run(program: Program, cell: Cell, contender: str, options: Options, folder: str) -> dict[str, Any]:
    """Return the repetitions of one process, the cached bytes of its file afterwards, and the drop-in's report."""
    paths = [os.path.join(folder, name) for name in ("file.bin", "floor.bin", "answer.jsonl")]
    environment = {**SETTINGS, **os.environ}
    if contender == WITH:
        environment = preload.environment(environment, report=True)
    asked = [CASES[cell.case].pattern, cell.access, cell.direction, str(cell.bytes), str(options.repetitions)]
    command = [program.mpiexec, "-n", str(cell.ranks), program.path, *asked, *paths]
    status, said = ended(command, environment, options.limit_seconds)
    if status is None:
        return {"refused": f"more than {options.limit_seconds:g} s"}
    if status != 0:
        return {"refused": f"mpiexec ended with status {status}: {' '.join(said.split())[-SAID_MAX:]}"}
    if contender == WITH and ": served, " not in said:
        return {"refused": f"the file was not served: {' '.join(said.split())[-SAID_MAX:] or 'nothing was reported'}"}
    with open(paths[2], encoding="utf-8") as answer:
        repetitions = [json.loads(line) for line in answer]
    with page_cache.opened(paths[0]) as fd:
        size = os.fstat(fd).st_size
        cached = page_cache.cached_bytes(fd, size)
    report = [line for line in said.splitlines() if line.startswith("swath mpi-io: ")]
    return {"repetitions": repetitions, "file_bytes": size, "cached_bytes": cached, "report": report}


def ended(command: list[str], environment: dict[str, str], seconds: float) -> tuple[int | None, str]:
    """Run ranks to their end; return their status (None after the time limit) and output. All ranks are ended."""
    job = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        launch.end(job)
    return job.returncode, said
