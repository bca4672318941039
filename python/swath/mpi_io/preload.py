"""Starts a program with the stub before its MPI.

`swath mpi-io` runs this and little else: modules that take long to import (typing, pathlib) are not imported here.
"""

from __future__ import annotations

import os

from swath.base.preload import VARIABLE, become, preloaded
from swath.mpi_io import measured

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

REPORT = "SWATH_MPI_IO_REPORT"
MODE = "SWATH_MPI_IO"
TRACE = "trace"
"""The mode of the stub that serves no file: it only adds the calls of the program to the trace."""


def library() -> str:
    """Return the path of the stub, for LD_PRELOAD.

    Raises UnsupportedError if it was not built.
    """
    path = _path()
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
    if prepared.get(MODE) == TRACE:  # of `swath trace swath mpi-io ...`: operations of Swath are traced as such
        del prepared[MODE]
    if report:
        prepared[REPORT] = "1"
    profiles = measured.up_to_date_file() if measured.VARIABLE not in given else None
    if profiles is not None:
        prepared[measured.VARIABLE] = profiles
    return prepared


def tracing_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return `given` with the stub, which serves nothing and adds each MPI-IO call to the trace.

    Nothing changes where the stub is there already, where the user has switched it off, or where it was not built.
    Raises UnsupportedError if LD_PRELOAD cannot contain its path.
    """
    path = _path()
    is_there = path in given.get(VARIABLE, "").replace(":", " ").split()
    if is_there or MODE in given or not os.path.exists(path):
        return dict(given)
    return {**preloaded(given, path), MODE: TRACE}


def run(command: Sequence[str], report: bool = False) -> NoReturn:
    """Replace this process by `command`, with the stub before the MPI of it and its children.

    Raises UnsupportedError as `environment` does, and OSError if there is no such program.
    """
    become(command, environment(os.environ, report))


def _path() -> str:
    return os.path.join(os.path.dirname(__file__), "libswath-mpi-io.so")


def _unsupported(message: str) -> Exception:
    from swath.errors import UnsupportedError

    return UnsupportedError(message)
