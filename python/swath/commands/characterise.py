"""`swath characterise`: the file use of a traced program, as tables, JSON, an HTML page, or Parquet."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from swath.commands import output
from swath.commands.characterise_text import print_characteristics
from swath.errors import ArgumentError, StoreError
from swath.trace.characteristics import characterise
from swath.trace.opening import read_log
from swath.trace.parquet import write_parquet
from swath.trace.report import html_report

HELP = "print what a traced program did with files"
DESCRIPTION = """\
Print what a program did with files: how many operations of each kind, how long
they took, how many bytes they moved, and their part of the time of the run; how
it used each file, and which distribution over the ranks its requests follow.
"""

EPILOG = """\
examples:
  swath trace --into run7 mpiexec -n 4 ./program
  swath characterise run7                  Swath's own trace
  swath characterise run7 --html run7.html timelines and maps, for a browser
  swath characterise job.darshan           a log of Darshan, with DXT or without
  swath characterise dftracer-folder       traces of DFTracer

read next: docs/trace.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath characterise TRACE`."""
    parser.add_argument(
        "trace", metavar="TRACE", nargs="+", help="the folder of a trace, one file of it, or a log of Darshan"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON: an object, or a list of them for several traces"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures, for a browser")
    parser.add_argument("--parquet", metavar="FILE", help="write the requests as a table (needs swath[parquet])")


def run(options: argparse.Namespace) -> int:
    """Print the tables of each trace, and write the requested files."""
    if len(options.trace) > 1 and (options.html or options.parquet):
        raise ArgumentError("characterise: --html and --parquet take one trace")
    found = []
    for trace in options.trace:
        log = read_log(trace)
        found.append(characterise(log))
        if options.html:
            _write(options.html, html_report(log, found[-1]))
        if options.parquet:
            write_parquet(log, options.parquet)
    if options.json:
        said = [asdict(one) for one in found]
        output.print_json(said if len(said) > 1 else said[0])
    else:
        for one in found:
            print_characteristics(one)
    return 0


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"{path}: it cannot be written: {error.strerror}", error.errno or 0) from None
