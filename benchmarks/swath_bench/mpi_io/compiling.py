"""The program, compiled for the MPI that is measured."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from swath.errors import UnsupportedError
from swath.ranks import mpi

SOURCES = Path(__file__).parent / "program"
FLAGS = ("-std=gnu11", "-O2")


@dataclass(frozen=True)
class Program:
    """A program, and the launcher that starts it on ranks."""

    path: str
    mpiexec: str


def find_mpi(mpicc: str | None) -> tuple[str, str]:
    """Return an mpicc and its mpiexec: the given one with its launcher, else those of this Python's environment.

    Raises UnsupportedError if one is missing.
    """
    if mpicc is None:
        mpiexec = mpi.own_mpiexec()
        if mpiexec is None:
            raise UnsupportedError("there is no mpiexec: pip install 'swath[mpi]', or give --mpicc PATH")
        compiler = str(Path(mpiexec).with_name("mpicc"))
    else:
        compiler = shutil.which(mpicc) or mpicc
        mpiexec = str(Path(compiler).with_name(Path(compiler).name.replace("mpicc", "mpiexec", 1)))
    for path in (compiler, mpiexec):
        if shutil.which(path) is None:
            raise UnsupportedError(f"{path} is not there, or cannot be run: give --mpicc PATH, beside its mpiexec")
    return compiler, mpiexec


def compile_program(mpicc: str | None, folder: str) -> Program:
    """Compile the program into `folder`. Raises UnsupportedError with the compiler's message if that fails."""
    compiler, mpiexec = find_mpi(mpicc)
    made = Path(folder, "move")
    command = [compiler, *FLAGS, *map(str, sorted(SOURCES.glob("*.c"))), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise UnsupportedError(f"{compiler} ended with status {done.returncode}: {' '.join(lines[:3])}")
    return Program(str(made), mpiexec)
