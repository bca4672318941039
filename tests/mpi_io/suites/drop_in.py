"""The drop-in as the suites run with it."""

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
    """What a program has in its environment; a backend for Open MPI is made first where it is older."""
    if not library.exists():
        sys.exit(f"{library} is not there: make setup builds it")
    found = {"LD_PRELOAD": str(library), "SWATH_MPI_IO_REPORT": "1"}
    if mpi.family == "openmpi":
        name = f"backend-{mpi.name}"
        data = workshop.folder(name)
        made = next(data.rglob("*.so"), None)
        if made is None or made.stat().st_mtime < library.stat().st_mtime:
            shutil.rmtree(data, ignore_errors=True)
            workshop.run(name, [SWATH, "mpi-io", "build", "--mpicxx", mpi.compilers["c++"]], XDG_DATA_HOME=str(data))
            made = next(data.rglob("*.so"))
        found["SWATH_MPI_IO_BACKENDS"] = str(made.parent)
    return found
