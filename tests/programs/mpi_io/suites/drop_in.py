"""The drop-in in the form that the suites use."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from mpis import Mpi
from workshop import Workshop

SWATH = str(Path(sys.executable).with_name("swath"))


def installed_library() -> Path:
    command = [SWATH, "mpi-io", "--library"]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def variables(library: Path, mpi: Mpi, workshop: Workshop) -> dict[str, str]:
    """Return the environment variables of a program; a backend for an older Open MPI is built first."""
    if not library.exists():
        sys.exit(f"{library} is not there: make setup builds it")
    found = {"LD_PRELOAD": str(library), "SWATH_MPI_IO_REPORT": "1"}
    if mpi.family == "openmpi":
        folder = workshop.folder(f"backend-{mpi.name}")
        made = folder / "libswath-mpi-io-openmpi.so"
        if not made.exists() or made.stat().st_mtime < library.stat().st_mtime:
            folder.mkdir(exist_ok=True)
            shutil.move(_build_backend(mpi), made)
        found["SWATH_MPI_IO_BACKENDS"] = str(folder)
    return found


def _build_backend(mpi: Mpi) -> str:
    """Return the backend's path from `swath mpi-io build`; a later backend for another Open MPI has the same path."""
    command = [SWATH, "mpi-io", "build", "--mpicxx", mpi.compilers["c++"]]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    return next(line for line in said.stdout.splitlines() if line.endswith(".so"))
