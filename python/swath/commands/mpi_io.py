"""`swath mpi-io`: runs an unchanged program, whose MPI-IO Swath serves. `swath.mpi_io` does the work."""

from __future__ import annotations

import argparse
import time

from swath.mpi_io import building, preload
from swath.ranks import loaded_mpi

HELP = "run an MPI-IO program, as it is, with its files served by Swath"
USAGE = "swath mpi-io [-h] [--report] [--library] PROGRAM ...\n       swath mpi-io build [-h] [--mpicxx PATH]"
DESCRIPTION = """\
Run a program that calls MPI-IO, itself or through HDF5, netCDF or PnetCDF, with
its files read and written by Swath. The program is not compiled or linked again.
"""

EPILOG = """\
examples:
  swath mpi-io mpiexec -n 4 ./program in.nc         as you would run it, with swath mpi-io before it
  swath mpi-io --report mpiexec -n 4 ./program      each file says at its close what was done, and why
  mpiexec -n 4 swath mpi-io ./program               the same: whatever is started below has it
  export LD_PRELOAD=$(swath mpi-io --library)       for a job script
  swath mpi-io build                                for the MPI of the mpicxx in PATH
  swath mpi-io build --mpicxx /opt/mpi/bin/mpicxx   for another one

environment:
  SWATH_MPI_IO=off            the MPI's own MPI-IO, as if Swath were not there
  SWATH_MPI_IO_THREADS=off    MPI_Init asks for the threads that the program asks for, and no more
  SWATH_MPI_IO_BACKENDS=DIR   where backends are looked for first

read next: docs/mpi-io.md; `swath doctor` says whether it works here.
"""

BUILD = "build"
HELP_OF_BUILD = "Compile the backend of an MPI: what serves programs of it. Needs a C++20 compiler."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath mpi-io`."""
    parser.add_argument("--report", action="store_true", help="each file says at its close what was done with it")
    parser.add_argument("--library", action="store_true", help="print what LD_PRELOAD is to name")
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM ...",
        help="what to run, with all its arguments; or build: make a backend for another MPI",
    )
    parser.set_defaults(print_help=parser.print_help)


def run(options: argparse.Namespace) -> int:
    """Replace this process by the program; or build the library, or print its path, with status 0."""
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if options.library:
        print(preload.library())
    elif not program:
        options.print_help()
    elif program[0] == BUILD:
        _build(program[1:])
    else:
        preload.run(program, options.report)
    return 0


def _build(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="swath mpi-io build", description=HELP_OF_BUILD)
    parser.add_argument("--mpicxx", metavar="PATH", help="of the MPI to build for; by default the one in PATH")
    mpi = building.find_mpi(parser.parse_args(arguments).mpicxx)
    print(f"{mpi.mpicxx}: {loaded_mpi.FAMILIES[mpi.family]}; compiling ...", flush=True)
    begun = time.monotonic()
    made = building.build(mpi)
    print(f"{made}\nmade in {time.monotonic() - begun:.0f} s. Next: swath mpi-io mpiexec -n 4 ./program")
