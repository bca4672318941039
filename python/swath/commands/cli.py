"""The command `swath` and its subcommands.

This module parses the command line, and turns an error into one line and an exit status. Each subcommand has a module
here: `add_arguments` defines its arguments, `run` carries it out and returns the exit status.
"""

from __future__ import annotations

import argparse
import codecs
import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

import swath
from swath.array import progress
from swath.commands import (
    advise,
    bench,
    calibrate,
    characterise,
    completion,
    copy,
    demo,
    doctor,
    explain,
    info,
    layout,
    mpi_io,
    rados,
    repair,
    replay,
    simulate,
    throttle,
    trace,
    verify,
)
from swath.commands.parsers import EXIT_ERROR, Command, Parser, add_command
from swath.commands.wording import in_options
from swath.errors import Error, InternalError, from_wire, to_wire
from swath.ranks import mpi

COMMANDS: dict[str, Command] = {
    "info": info,
    "explain": explain,
    "layout": layout,
    "copy": copy,
    "verify": verify,
    "repair": repair,
    "calibrate": calibrate,
    "demo": demo,
    "doctor": doctor,
    "bench": bench,
    "throttle": throttle,
    "mpi-io": mpi_io,
    "trace": trace,
    "characterise": characterise,
    "replay": replay,
    "advise": advise,
    "simulate": simulate,
    "rados": rados,
}

TOGETHER = ("copy", "verify")
"""Subcommands that all ranks of mpiexec carry out together."""

BY_ITSELF = ("mpi-io", "trace")
"""Subcommands that become another program (exec). Each rank of any MPI's mpiexec does so by itself, without MPI."""

EXIT_OK = 0
EXIT_WRONG = 1
"""The command found something wrong: arrays that differ, another MPI's mpiexec, a failed check of the demo, a finding
of `swath doctor`."""
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""The reader of standard output has closed it (`swath info FILE | head -1`): the status that a shell reports for a
program that SIGPIPE has ended."""

DESCRIPTION = """\
Swath reads and writes large multi-dimensional arrays, in parallel, whichever way
the program cuts them up and whichever way the file lays them out.
"""

EPILOG = """\
examples:
  swath info sst.nc                        what is in the file
  swath info sst.nc:surface_temperature    one variable: where its bytes are
  swath explain sst.nc:surface_temperature --dist "*,block,cyclic(4)" --ranks 4
                                           how four ranks would read it, what it costs, and why so
  swath layout --access "[:, j]:10" --access "[i, :]" 8192,8192 f8
                                           which layout suits what a program reads
  swath copy a.npy b.h5 --chunks 512,512   another layout, in bounded memory; --explain says first what it costs
  swath verify a.npy b.h5                  are they the same?
  swath repair run.h5                      restore a file whose writer was killed
  swath calibrate /scratch/me              measure that store, so that the cheapest method is chosen there
  swath demo                               see it work on real data, with four ranks, in a minute
  swath doctor                             is this installation in order?
  swath bench ncio --quick                 noncontiguous access by every method, measured here
  swath simulate --list-machines           machines that an operation can be simulated on
  swath throttle status                    how many streams each disk or server serves now
  swath replay swath-trace                 carry out a traced run again, as it was or changed
  swath advise swath-trace                 what would make the traced run faster, and by how much
  swath mpi-io mpiexec -n 4 ./program      an MPI-IO program as it is, its files served by Swath

Reading and writing parts of arrays is for programs, in Python:
  with swath.open("a.npy", comm=MPI.COMM_WORLD) as a:
      mine = a.read(swath.Distribution((swath.Block(), swath.Cyclic(4)), grid=(2, 2)))

exit status: 0 done; 1 something is wrong here; 2 the request could not be carried out.

read next: swath demo, then README.md (using it from Python) and `swath explain --help`.
"""


def parser() -> argparse.ArgumentParser:
    """Return the whole command line."""
    top = Parser(
        prog="swath", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"swath {swath.__version__}")
    top.add_argument(
        "--print-completion",
        action=completion.PrintCompletion,
        choices=completion.SHELLS,
        help="print what completes this command line in a shell (see README.md)",
    )
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        add_command(subparsers, name, command)
    return top


NAMES_AS_THEY_ARE = "swath-names-as-they-are"
"""The error handler for text that is not valid Unicode: it prints file names as bytes, and other text with escapes."""


def _encoded(error: UnicodeError) -> tuple[bytes | str, int]:
    """Encode for `codecs.register_error`: Python holds bytes that are not UTF-8 as lone surrogates (os.fsdecode)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeEncodeError:
        return codecs.lookup_error("backslashreplace")(error)


codecs.register_error(NAMES_AS_THEY_ARE, _encoded)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status. Under mpiexec only rank 0 prints.

    Only rank 0 does the work, too, except for `explain --analyze`, `copy` and `verify`, which are collective.
    """
    _fill_closed_streams()
    try:
        try:
            status = _run(arguments)
        finally:
            sys.stdout.flush()  # so a closed pipe is noticed here, not at the end of the interpreter
    except BrokenPipeError:
        return _broken_pipe()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich turns it into SystemExit
            return _broken_pipe()
        raise
    return status


def _fill_closed_streams() -> None:
    """Open /dev/null for each closed standard stream (`>&-`): else the next opened file would get its descriptor."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _broken_pipe() -> int:
    """Discard the output that is left, and return the exit status."""
    _flush_or_drop(sys.stdout)
    _flush_or_drop(sys.stderr)
    return EXIT_BROKEN_PIPE


def _flush_or_drop(stream: TextIO) -> None:
    try:
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command line; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NAMES_AS_THEY_ARE)
    asked = sys.argv[1:] if arguments is None else arguments
    command = asked[0] if asked else ""
    # Every rank calls it: it may start MPI, which is collective.
    wrong = mpi.foreign_launcher() if command not in BY_ITSELF else None
    if mpi.launched_rank() != 0 and command not in BY_ITSELF:
        if wrong is not None or not ("--analyze" in asked or command in TOGETHER):
            return EXIT_OK
        sys.stdout = sys.stderr = open(  # noqa: SIM115
            os.devnull, "w", encoding="utf-8", errors=NAMES_AS_THEY_ARE
        )
    if wrong is not None:
        print(f"swath: {wrong}", file=sys.stderr, flush=True)
    options = parser().parse_args(arguments)
    if wrong is not None and options.command != "doctor":
        return EXIT_WRONG
    try:
        progress.show_bars()
        return COMMANDS[options.command].run(options)
    except BrokenPipeError:
        raise
    except Exception as error:
        if options.traceback:
            raise
        print(f"swath: {in_options(_in_one_line(error), options.own_parser)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("swath: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _in_one_line(error: Exception) -> str:
    """Return the line that is printed for an error of any origin."""
    words = " ".join(str(from_wire(to_wire(error))).split())
    if isinstance(error, (Error, OSError, MemoryError)) and not isinstance(error, InternalError):
        return words
    return f"{words} (a bug in Swath: please report it, with what --traceback shows)"


if __name__ == "__main__":
    sys.exit(main())
