"""`swath characterise`: what a traced program did with files, in tables, as data, as a page, as Parquet."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from swath.commands import output
from swath.commands.characterise_text import print_characteristics
from swath.trace.characteristics import characterise
from swath.trace.opening import read_log

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


def add_parser(subparsers: Any, name: str) -> argparse.ArgumentParser:
    """`swath characterise TRACE ...`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help="print what a traced program did with files",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "trace", metavar="TRACE", nargs="+", help="the folder of a trace, one file of it, or a log of Darshan"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON: an object, or a list of them for several traces"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the tables of each trace."""
    found = [characterise(read_log(trace)) for trace in options.trace]
    if options.json:
        said = [asdict(one) for one in found]
        output.print_json(said if len(said) > 1 else said[0])
    else:
        for one in found:
            print_characteristics(one)
    return 0
