"""Runs MPI-IO programs with the drop-in and without: the path of its stub, and its report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

import yielding
from mpi_runs import mpiexec, needs_mpi
from swath.errors import UnsupportedError
from swath.mpi_io import backends, building, preload
from tree import PROGRAMS

LIBRARY = "SWATH_MPI_IO_LIBRARY"
"""A stub to test instead of the installed one, for example of a build folder."""


def stub() -> Path:
    """Return the path from `swath mpi-io --library`, or from SWATH_MPI_IO_LIBRARY; skip the test if there is none."""
    needs_mpi()
    if LIBRARY in os.environ:
        return Path(os.environ[LIBRARY])
    try:
        return Path(preload.library())
    except UnsupportedError as error:
        pytest.skip(str(error))


@dataclass(frozen=True)
class Ended:
    """The results of a program."""

    status: int
    out: str
    err: str

    @property
    def told(self) -> list[str]:
        """The lines of the report."""
        return [
            line.removeprefix("swath mpi-io: ") for line in self.err.splitlines() if line.startswith("swath mpi-io: ")
        ]


Command = Sequence[object]


def python(program: str, *arguments: object) -> list[object]:
    """The command of tests/programs/mpi/`program`."""
    return [sys.executable, PROGRAMS / "mpi" / program, *arguments]


def run(
    ranks: int | Sequence[int],
    command: Command,
    *,
    served: bool = True,
    seconds_max: float = 100,
    environment: dict[str, str] | None = None,
    environments: Sequence[dict[str, str]] = (),
    tracer: Sequence[str] = (),
) -> Ended:
    """Run a command on this many ranks, or on several groups of ranks, each with its own environment.

    A run that takes longer than `seconds_max` fails as a hang.
    """
    library = str(stub())
    groups = [ranks] if isinstance(ranks, int) else list(ranks)
    words: list[str] = [str(mpiexec())]
    for index, count in enumerate(groups):
        more = dict(environments[index]) if environments else {}
        words += [":"] if index else []
        words += ["-n", str(count), "env", *(f"{name}={value}" for name, value in more.items()), *tracer]
        words += yielding.preloaded(*([library] if served else []))
        words += map(str, command)
    env = {**os.environ, "HYDRA_LAUNCHER": "fork", "SWATH_MPI_IO_REPORT": "1", **(environment or {})}
    # Files, not pipes: a rank that outlives mpiexec would keep a pipe open.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with subprocess.Popen(words, env=env, stdout=out, stderr=err) as running:
            try:
                running.wait(timeout=seconds_max)
            except subprocess.TimeoutExpired:
                running.terminate()  # mpiexec ends its ranks
                try:
                    running.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    running.kill()
                said = _text(out)[-2000:] + _text(err)[-3000:]
                pytest.fail(f"{command} on {ranks} ranks: still running after {seconds_max} s, a hang: {said}")
        return Ended(running.returncode, _text(out), _text(err))


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def run_well(ranks: int | Sequence[int], command: Command, **options: object) -> Ended:
    """The same, for a program that must succeed, and whose files must be served."""
    ended = run(ranks, command, **options)  # type: ignore[arg-type]
    assert ended.status == 0, ended.out[-3000:] + ended.err[-6000:]
    assert not any("given back" in line for line in ended.told), ended.told
    return ended


@dataclass(frozen=True)
class Told:
    """A line of the report: operations of one kind."""

    kind: str
    operations: int
    bytes: int
    requests: int
    bytes_moved: int


_KIND = re.compile(r"  (.+): operations (\d+), bytes (\d+), requests (\d+), bytes moved (\d+), ")


def reported(ended: Ended | str) -> list[Told]:
    """Return the report's lines about operations, of a run or of its standard error."""
    found = (_KIND.match(line) for line in (Ended(0, "", ended) if isinstance(ended, str) else ended).told)
    return [Told(one[1], *map(int, one.groups()[1:])) for one in found if one]


def compiled(folder: Path, source: str) -> Path:
    """Compile a program of tests/mpi_io, by the mpicc next to mpiexec."""
    needs_mpi()
    mpicc = Path(str(mpiexec())).with_name("mpicc")
    if not mpicc.exists():
        pytest.skip("no mpicc beside mpiexec")
    program = folder / Path(source).stem
    subprocess.run([mpicc, "-O1", "-rdynamic", "-o", program, PROGRAMS / "mpi_io" / source], check=True)
    return program


def backend_folder(family: str, mpicxx: object, folder: Path) -> Path:
    """Return the folder of a real backend for an MPI: the installed one, or one that is built once into `folder`."""
    installed = backends.PACKAGE / backends.file_name(family)
    if installed.exists():
        return installed.parent
    if not (folder / installed.name).exists():
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv(backends.VARIABLE, str(folder))
            building.build(building.find_mpi(str(mpicxx)))
    return folder
