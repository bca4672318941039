"""Starts the programs, all contenders of a case in turn, and checks their files."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swath_bench import launch
from swath_bench.launch import BenchmarkFailedError
from swath_bench.measure import WrongDataError, shuffled
from swath_bench.mpi_io.running import SETTINGS, ended
from swath_bench.simulation.cases import CASES, CYCLIC_READ, GATHERED, Contender, Options
from swath_bench.simulation.checks import check
from swath_bench.simulation.compiling import Installed, NotBuiltError, compiled, installed_at, uses_open_mpi

SAID_MAX = 600
OPEN_MPI_IO = ("ompio", "romio321")
"""The MPI-IO libraries of Open MPI; each is a contender."""


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure case after case; `keep` gets the results after each.

    Raises BenchmarkFailedError if Swath fails, or writes wrong data; a peer that does so is refused.
    """
    folder = os.path.abspath(folder)
    result: dict[str, Any] = {"cells": [], "conditions": {"settings": SETTINGS}}
    own = installed_at(None)
    others = [installed_at(prefix) for prefix in options.prefixes] or [own]
    for case in options.cases:
        for installed in [own] if case == CYCLIC_READ else others:
            with tempfile.TemporaryDirectory(prefix="simulation-", dir=folder) as scratch:
                result["cells"].append(_cell(case, installed, options, scratch))
            keep(result)
    return result


def _cell(case: str, installed: Installed, options: Options, folder: str) -> dict[str, Any]:
    """Return a case with one MPI."""
    commands: dict[str, tuple[Contender, list[str], dict[str, str]]] = {}
    contenders: dict[str, dict[str, Any]] = {}
    for who, contender in CASES[case].items():
        made, missing = _built(who, contender, installed, folder)
        for name, command, settings in made:
            commands[name] = (contender, command, settings)
            contenders[name] = {"repetitions": [], "refused": None}
        if missing:
            contenders[who] = {"repetitions": [], "refused": missing}
    if case == CYCLIC_READ:
        np.save(Path(folder, "a.npy"), np.arange(options.bytes // 32, dtype="f8"))
    for number in range(options.rounds):
        for who in shuffled(list(commands), number):
            entry = contenders[who]
            if entry["refused"] is None:
                launch.say("simulation", f"{case}, {installed.name}, round {number + 1} of {options.rounds}: {who}")
                _add(entry, who, number, _run(case, commands[who], installed, options, folder))
    shape = [options.bytes // 32] if case == CYCLIC_READ else options.shape_of(case)
    return {"case": case, "mpi": installed.name, "shape": shape, "contenders": contenders}


def _is_swath(who: str) -> bool:
    return who.startswith("Swath")


def _built(
    who: str, contender: Contender, installed: Installed, folder: str
) -> tuple[list[tuple[str, list[str], dict[str, str]]], str]:
    """Return (name, program, settings) for each contender of this kind, or the reason why there is none."""
    if not contender.source:
        return [(who, [sys.executable, "-m", "mpi4py", "-m", "swath_bench.simulation.cyclic_read"], {})], ""
    try:
        program = compiled(contender, installed, folder)
    except NotBuiltError as error:
        if _is_swath(who):
            raise BenchmarkFailedError(f"simulation: {who}: {error}") from None
        return [], str(error)
    if contender.uses_mpi_io and uses_open_mpi(program):
        return [(f"{who}, {library}", [program], {"OMPI_MCA_io": library}) for library in OPEN_MPI_IO], ""
    return [(who, [program], {})], ""


def _add(entry: dict[str, Any], who: str, number: int, run: dict[str, Any]) -> None:
    if "refused" in run:
        if _is_swath(who):
            raise BenchmarkFailedError(f"simulation: {who}: {run['refused']}")
        entry["refused"] = run["refused"]
    else:
        entry["repetitions"] += [{"round": number, **one} for one in run["repetitions"]]


def _run(
    case: str,
    asked: tuple[Contender, list[str], dict[str, str]],
    installed: Installed,
    options: Options,
    folder: str,
) -> dict[str, Any]:
    """Return the repetitions of one process on each rank, or why there are none."""
    contender, program, settings = asked
    path = os.path.join(folder, "a.npy" if case == CYCLIC_READ else f"dump{contender.suffix}")
    count, shape, compresses = options.count_of(case), options.shape_of(case), case == GATHERED
    if case == CYCLIC_READ:
        arguments = [path, str(options.repetitions)]
    else:
        lists = (",".join(map(str, numbers)) for numbers in (shape, options.grid_of(case)))
        arguments = [path, contender.format, str(count), str(int(compresses)), *lists]
    command = [installed.mpiexec, "-n", str(options.ranks), *program, *arguments]
    try:
        status, said = ended(command, {**SETTINGS, **settings, **os.environ}, options.limit_seconds)
        if status is None:
            return {"refused": f"more than {options.limit_seconds:g} s"}
        if status != 0:
            return {"refused": f"mpiexec ended with status {status}: {' '.join(said.split())[-SAID_MAX:]}"}
        if case != CYCLIC_READ:
            check(path, count, shape, compresses)
        told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        return {"repetitions": [{**one, "file_bytes": os.path.getsize(path)} for one in told]}
    except WrongDataError as error:
        return {"refused": str(error)}
    finally:
        if case != CYCLIC_READ:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
