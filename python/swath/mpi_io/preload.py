"""Starts a program with the stub before its MPI.

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
    """Return the path of the stub, for LD_PRELOAD.

    Raises UnsupportedError if it was not built.
    """
    path = os.path.join(os.path.dirname(__file__), "libswath-mpi-io.so")
    if not os.path.exists(path):
        raise _unsupported(
            f"{path} was not built: MPI-IO programs are served on Linux with x86-64 or aarch64 processors only"
        )
    return path


def environment(given: Mapping[str, str], report: bool = False) -> dict[str, str]:
    """Return `given` with the stub at the end of LD_PRELOAD: a tool before it sees all calls.

    report: each file prints a report when it is closed.
    Raises UnsupportedError if there is no stub, or if LD_PRELOAD cannot contain its path.
    """
    prepared = preloaded(given, library())
    if report:
        prepared[REPORT] = "1"
    profiles = measured.up_to_date_file() if measured.VARIABLE not in given else None
    if profiles is not None:
        prepared[measured.VARIABLE] = profiles
    return prepared


def run(command: Sequence[str], report: bool = False) -> NoReturn:
    """Replace this process by `command`, with the stub before the MPI of it and its children.

    Raises UnsupportedError as `environment` does, and OSError if there is no such program.
    """
    become(command, environment(os.environ, report))


def _unsupported(message: str) -> Exception:
    from swath.errors import UnsupportedError

    return UnsupportedError(message)
