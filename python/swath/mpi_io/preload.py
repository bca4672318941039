"""Starting a program with the stub in front of its MPI.

`swath mpi-io` runs this and little else: modules that take long to import (typing, pathlib) are not imported here.
"""

from __future__ import annotations

import os

from swath.base.preload import become, preloaded
from swath.mpi_io import measured

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

REPORT = "SWATH_MPI_IO_REPORT"


def library() -> str:
    """Return the path of the stub: what LD_PRELOAD names.

    Raises UnsupportedError where it was not built.
    """
    path = os.path.join(os.path.dirname(__file__), "libswath-mpi-io.so")
    if not os.path.exists(path):
        raise _unsupported(
            f"{path} was not built: MPI-IO programs are served on Linux with x86-64 or aarch64 processors only"
        )
    return path


def environment(given: Mapping[str, str], report: bool = False) -> dict[str, str]:
    """Return `given` with the stub in LD_PRELOAD, behind what is there: a tool in front sees all calls.

    report: each file says at its close what was done with it.
    Raises UnsupportedError where there is no stub, or LD_PRELOAD cannot name it.
    """
    prepared = preloaded(given, library())
    if report:
        prepared[REPORT] = "1"
    profiles = measured.up_to_date_file() if measured.VARIABLE not in given else None
    if profiles is not None:
        prepared[measured.VARIABLE] = profiles
    return prepared


def run(command: Sequence[str], report: bool = False) -> NoReturn:
    """Become `command`, with the stub in front of whatever MPI it and its children load.

    Raises UnsupportedError as `environment` does, and OSError where there is no such program.
    """
    become(command, environment(os.environ, report))


def _unsupported(message: str) -> Exception:
    from swath.errors import UnsupportedError

    return UnsupportedError(message)
