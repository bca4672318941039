"""The applications in Fortran and C: built against the library that is installed for an MPI with Fortran, and run."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import yielding
from fortran_programs import fortran_prefix
from installed_library import BUILD, MPICH, OPENMPI, Mpi, run, surroundings
from tree import ROOT

APPLICATIONS = ROOT / "applications"
SECONDS_MAX = 100


def mpi_with_fortran() -> Mpi:
    """An MPI of the system: the wheel of MPICH has no Fortran."""
    for mpi in (MPICH, OPENMPI):
        if mpi.mpifort.exists():
            return mpi
    pytest.skip(f"neither {MPICH.mpifort} nor {OPENMPI.mpifort} is installed")


def parallel_hdf5(mpi: Mpi) -> str | None:
    """The flags of Debian's parallel HDF5 for an MPI; None where it is not installed."""
    family = mpi.name.removeprefix("debian-")
    headers = Path("/usr/include/hdf5", family)
    libraries = next(Path("/usr/lib").glob(f"*/hdf5/{family}"), None)
    return f"-I{headers} -L{libraries} -lhdf5" if headers.exists() and libraries is not None else None


def built(name: str, mpi: Mpi) -> Path:
    """The program of an application."""
    prefix = fortran_prefix(mpi)
    folder = BUILD / "applications" / mpi.name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:  # other processes of these tests build the same
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = [f"PREFIX={prefix}", f"MPIFORT={mpi.mpifort}", f"MPICC={mpi.mpicc}", f"OUT={folder}"]
        words += [f"HDF5_FLAGS={parallel_hdf5(mpi) or ''}"]
        run(["make", "--no-print-directory", "-C", APPLICATIONS, *words, folder / name], env=surroundings(prefix))
    return folder / name


def run_application(name: str, ranks: int, folder: Path, **arguments: object) -> dict[str, Any]:
    """Runs `name` with arguments name=value in a folder; returns the line that it prints, which is JSON."""
    found: dict[str, Any] = json.loads(run_preloaded(name, ranks, folder, arguments).splitlines()[-1])
    return found


def run_preloaded(
    name: str,
    ranks: int,
    folder: Path,
    arguments: Mapping[str, object],
    *preloaded: str,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Runs an application with libraries in front of its own; returns what it prints, also on standard error."""
    mpi = mpi_with_fortran()
    program = built(name, mpi)
    given = [f"{key}={value}" for key, value in arguments.items()]
    command = [*mpi.mpiexec, "-n", ranks, *yielding.preloaded(*preloaded), program, *given]
    return run(command, SECONDS_MAX, cwd=folder, env=surroundings(fortran_prefix(mpi), environment))
