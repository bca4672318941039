"""`swath trace`: runs a program; each of its processes records its file operations. The core writes the trace."""

from __future__ import annotations

import argparse
import os

from swath.base.preload import become
from swath.errors import ArgumentError, NotFoundError, StoreError
from swath.mpi_io import preload
from swath.trace import file_calls

HELP = "run a program, and trace what it does with files"
USAGE = "swath trace [-h] [--into FOLDER] [--operations] PROGRAM ..."
DESCRIPTION = """\
Run a program with a trace: every read and write by Swath, from Python, C, C++,
Fortran or MPI-IO, with its structure, its plan, predicted and measured seconds;
and the program's own file calls (open, read, write, lseek, fsync, fread, ...),
with the calls of MPI-IO (MPI_File_write_at_all, ...) that Swath does not serve.
Each process writes a file of its own into the folder, several times a second.
"""

EPILOG = """\
examples:
  swath trace python simulate.py                   into the folder swath-trace
  swath trace --into run7 mpiexec -n 4 ./program   all processes that it starts
  SWATH_TRACE=run7 mpiexec -n 4 ./program          the operations of Swath, for a job script
  swath characterise run7                          what the program did, in tables
  swath replay run7                                the same once more, on scratch files

The files are compressed events of Chrome's trace format, a line each: Perfetto
(https://ui.perfetto.dev) opens them.

read next: docs/trace.md, and docs/formats/trace.md for the format.
"""

FOLDER = "swath-trace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath trace PROGRAM ...`."""
    parser.add_argument("--into", metavar="FOLDER", default=FOLDER, help=f"where the trace goes (default: {FOLDER})")
    parser.add_argument(
        "--operations", action="store_true", help="only the operations of Swath, not the program's own file calls"
    )
    parser.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="PROGRAM ...", help="what to run, with its arguments"
    )


def run(options: argparse.Namespace) -> int:
    """Replace this process by the program."""
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        raise ArgumentError("trace: name the program to run: swath trace [--into FOLDER] PROGRAM ...")
    folder = os.path.abspath(options.into)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise StoreError(f"trace: {folder}: {error.strerror}", error.errno or 0) from None
    environment = file_calls.environment(os.environ, folder, not options.operations)
    if not options.operations:
        environment = preload.tracing_environment(environment)
    try:
        become(program, environment)
    except OSError as error:
        raise NotFoundError(f"trace: {program[0]}: {error.strerror}", error.errno or 0) from None
