"""Building the programs, and running all variants of each in turn."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from swath.errors import UnsupportedError
from swath.ranks import mpi
from swath_bench import launch
from swath_bench.applications.options import CASES, Case, Cell, Options, cells_of
from swath_bench.launch import BenchmarkFailedError
from swath_bench.mpi_io.compiling import find_mpi

BENCHMARK = "applications"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HYDRA_LAUNCHER": "fork"}
SUMS = ("bytes", "io_seconds", "total_seconds")


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure cell after cell; `keep` gets the results after each.

    Raises UnsupportedError without the applications, BenchmarkFailedError if a program fails: they check their answers.
    """
    sources = find_applications(options.application)
    built = Built(sources, options, Path(folder).resolve())
    left_out = []
    if options.prefix is None:
        compiled = [name for name in options.cases if not CASES[name].is_python]
        left_out = [f"{CASES[name].title}: is compiled against an installed Swath: give --prefix" for name in compiled]
        options = dataclasses.replace(options, cases=tuple(name for name in options.cases if name not in compiled))
    result: dict[str, Any] = {"cells": [], "left_out": left_out}
    if any(not CASES[name].is_python for name in options.cases):
        of_python = mpi.library_version().splitlines()[0]
        result["conditions"] = {"mpi": f"{of_python}; of compiled programs {find_mpi(options.mpicc)[0]}"}
    for disk in options.disks or (None,):
        with launch.on_disk(disk, folder, sources.parent / "build") as place:
            for cell in cells_of(options, disk):
                launch.say(BENCHMARK, cell.words)
                result["cells"].append({**dataclasses.asdict(cell), "runs": _in_turns(built, cell, options, place)})
                keep(result)
    return result


def find_applications(told: str | None) -> Path:
    """Return the folder of the applications: the given one, else the one here or in a folder above.

    Raises UnsupportedError if it is missing: it belongs to the repository, not to the package.
    """
    above = [Path.cwd(), *Path.cwd().parents, *Path(__file__).resolve().parents]
    for folder in [Path(told)] if told is not None else [base / "applications" for base in above]:
        if (folder / "Makefile").is_file() and (folder / "btio").is_dir():
            return folder.resolve()
    where = f"there is no btio in {told}" if told is not None else "there are no applications here or in a folder above"
    raise UnsupportedError(
        f"{where}: swath bench applications runs programs of Swath's repository, which are not installed with the "
        "package: call it in a checkout, or give --application CHECKOUT/applications"
    )


class FromSource(Protocol):
    """Options that say against what programs are compiled."""

    @property
    def prefix(self) -> str | None:
        """Return the folder of an installed Swath with Fortran."""

    @property
    def mpicc(self) -> str | None:
        """Return the C compiler of its MPI."""


class Built:
    """The programs; those in Fortran and C are built when one is asked for first."""

    def __init__(self, sources: Path, options: FromSource, folder: Path) -> None:
        self.sources, self.options, self.folder = sources, options, folder / "programs"

    def command(self, name: str, ranks: int) -> list[str]:
        """Return the words that start a program, without its arguments."""
        if not CASES[name].is_python:
            return self._compiled(name, ranks)
        program = [sys.executable, str(self.sources / name / f"{name}.py")]
        return [str(mpi.own_mpiexec()), "-n", str(ranks), *program] if CASES[name].has_ranks else program

    def _compiled(self, name: str, ranks: int) -> list[str]:
        mpicc, mpiexec = find_mpi(self.options.mpicc)
        program = self.folder / name
        if not program.exists():
            mpifort = str(Path(mpicc).with_name(Path(mpicc).name.replace("mpicc", "mpifort", 1)))
            if shutil.which(mpifort) is None:
                raise UnsupportedError(
                    f"{mpifort} is not there: give --mpicc PATH of an MPI that has Fortran beside it"
                )
            words = [f"PREFIX={self.options.prefix}", f"MPIFORT={mpifort}", f"MPICC={mpicc}", f"OUT={self.folder}"]
            done = subprocess.run(
                ["make", "-C", str(self.sources), *words, str(program)], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise UnsupportedError(f"{name}: not built against {self.options.prefix}: {done.stderr[-800:]}")
        return [mpiexec, "-n", str(ranks), str(program)]

    @property
    def libraries(self) -> str:
        """Return LD_LIBRARY_PATH with the libraries of the installed Swath."""
        own = [] if self.options.prefix is None else [str(Path(self.options.prefix, "lib"))]
        return os.pathsep.join([*own, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])


def _in_turns(built: Built, cell: Cell, options: Options, place: str) -> dict[str, list[dict[str, Any]]]:
    """Return the counted runs of each variant. Each round has another order; the first round is not counted."""
    variants = CASES[cell.case].variants
    runs: dict[str, list[dict[str, Any]]] = {variant: [] for variant in variants}
    for turn in range(options.rounds + 1):
        first = turn % len(variants)
        for variant in (*variants[first:], *variants[:first]):
            with tempfile.TemporaryDirectory(dir=os.path.abspath(place)) as folder:
                found = _run(built, cell, variant, options, folder)
            if turn > 0:
                runs[variant].append(found)
    return runs


def _run(built: Built, cell: Cell, variant: str, options: Options, folder: str) -> dict[str, Any]:
    """Run one variant once; its lines of JSON are added up."""
    case = CASES[cell.case]
    command = [*built.command(cell.case, cell.ranks), *arguments(case, variant, options.scale, folder)]
    environment = {**os.environ, **ENVIRONMENT}
    if not case.is_python:
        environment["LD_LIBRARY_PATH"] = built.libraries
    job = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        told, errors = job.communicate(timeout=options.limit_seconds)
    except subprocess.TimeoutExpired:
        raise BenchmarkFailedError(
            f"{cell.words}, {variant}: still running after {options.limit_seconds:g} s: give --limit-seconds, or a "
            "smaller --scale"
        ) from None
    finally:
        launch.end(job)
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    if job.returncode != 0 or not lines or not all(line["checked"] for line in lines):
        said = (errors.strip() or told.strip())[-800:]
        raise BenchmarkFailedError(f"{cell.words}, {variant}: ended with status {job.returncode}: {said}")
    return {name: sum(line[name] for line in lines) for name in SUMS}


def arguments(case: Case, variant: str, scale: str, folder: str) -> list[str]:
    """Return the arguments of a program, whose files go to `folder`."""
    given = {case.variant: variant, **case.sizes[scale]}
    if not case.is_python:
        given["file"] = os.path.join(folder, "out")
        return [f"{name}={value}" for name, value in given.items()]
    given |= {"file": os.path.join(folder, "out.raw")} if case.has_ranks else {"folder": folder}
    return [word for name, value in given.items() for word in (f"--{name}", *value.split(" "))]
