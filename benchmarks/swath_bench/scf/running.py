"""Running the application, once for each source of integrals, and comparing its energies with PySCF's."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swath.errors import UnsupportedError
from swath.ranks import mpi
from swath_bench import launch
from swath_bench.launch import BenchmarkFailedError
from swath_bench.scf.options import AUTO, Options, Run, runs_of

PROGRAM, REFERENCE = "scf.py", "reference.py"
PLACE = Path("applications", "scf")
ENERGY_TOLERANCE = 1e-8
"""Hartree."""
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure run after run; `keep` gets the results after each.

    Raises UnsupportedError without the application or PySCF, BenchmarkFailedError if a run fails or its energy
    differs from PySCF's.
    """
    application = find_application(options.application)
    if importlib.util.find_spec("pyscf") is None:
        raise UnsupportedError("swath bench scf needs PySCF, whose integrals the application takes: pip install pyscf")
    energies = {name: reference(application, name, options.basis) for name in options.inputs}
    result: dict[str, Any] = {"energies": energies, "runs": []}
    for disk in options.disks or (None,):
        with launch.on_disk(disk, folder, application.parents[1] / "build") as place:
            for run in runs_of(options, disk):
                launch.say("scf", run.words)
                found = _run(application, run, options, place)
                _check(run, found, energies[run.input])
                result["runs"].append({**dataclasses.asdict(run), "words": run.words, **found})
                keep(result)
    return result


def find_application(told: str | None) -> Path:
    """Return the folder of the application: the given one, else applications/scf here or in a folder above.

    Raises UnsupportedError if it is missing: it belongs to the repository, not to the package.
    """
    above = [Path.cwd(), *Path.cwd().parents, *Path(__file__).resolve().parents]
    for folder in [Path(told)] if told is not None else [base / PLACE for base in above]:
        if (folder / PROGRAM).is_file():
            return folder.resolve()
    where = f"{PROGRAM} is not in {told}" if told is not None else f"there is no {PLACE} here or in a folder above"
    raise UnsupportedError(
        f"{where}: swath bench scf runs an application of Swath's repository, which is not installed with the package: "
        f"call it in a checkout, or give --application CHECKOUT/{PLACE}"
    )


def reference(application: Path, name: str, basis: str) -> float:
    """Return the energy by `pyscf.scf.RHF`, Hartree, from a separate process."""
    launch.say("scf", f"{name}: the energy by pyscf.scf.RHF")
    command = [sys.executable, str(application / REFERENCE), "--input", _input(name), "--basis", basis]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise BenchmarkFailedError(f"scf: {name}: no energy by PySCF: {ended.stderr.strip()[-500:]}")
    return float(ended.stdout.split()[-1])


def _run(application: Path, run: Run, options: Options, folder: str) -> dict[str, Any]:
    """Return the application's record."""
    record = os.path.join(folder, "record.json")
    program = [sys.executable, str(application / PROGRAM), "--input", _input(run.input), "--basis", options.basis]
    program += ["--integrals", run.integrals, "--folder", folder, "--record", record]
    if run.share is not None:
        program += ["--disk", run.share if run.share == AUTO else repr(float(run.share) / 100)]
        program += ["--memory", str(options.memory)]
    command = [str(mpi.own_mpiexec()), "-n", str(run.ranks), *program]
    status = launch.run_command(command, {**ENVIRONMENT, **os.environ})
    if status != 0:
        raise BenchmarkFailedError(
            f"scf: {run.words}: mpiexec ended with status {status}; what the application said stands above"
        )
    with open(record, encoding="utf-8") as told:
        found: dict[str, Any] = json.load(told)
    return found


def _input(name: str) -> str:
    """Return the name of a built-in input unchanged, else the file's absolute path: the process has another folder."""
    return os.path.abspath(name) if os.path.exists(name) else name


def _check(run: Run, found: dict[str, Any], expected: float) -> None:
    difference = abs(found["energy"] - expected)
    if not difference <= ENERGY_TOLERANCE:
        raise BenchmarkFailedError(
            f"scf: {run.words}: wrong energy {found['energy']:.10f} Hartree: by pyscf.scf.RHF {expected:.10f}"
        )
    found["energy_difference"] = difference
