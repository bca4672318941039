"""`swath bench`: compare Swath with other libraries, by the package `swath-bench`; the same as `python -m swath_bench`.

That package is imported only when `swath bench` is parsed or completed: other subcommands never load it.
"""

from __future__ import annotations

import argparse
import importlib.util

from swath.commands.parsers import Parser
from swath.errors import UnsupportedError

PACKAGE = "swath_bench"
MISSING = (
    "swath bench needs the package swath-bench, which is not installed: "
    "pip install ./benchmarks in a checkout of Swath's repository"
)

HELP = "measure, beside the peers; starts its own ranks"
READ_NEXT = """
read next: docs/performance.md (what it printed, and where); swath calibrate, by
  which predictions and choices get better.
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `swath bench [BENCHMARK] ...`."""
    parser.add_arguments_late(_add_arguments)


def run(options: argparse.Namespace) -> int:
    """Measure, print, record."""
    from swath_bench import __main__ as bench

    return bench.run(options)


def _add_arguments(parser: Parser) -> None:
    """Add the arguments of the benchmarks. Raises UnsupportedError if they are not installed."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise UnsupportedError(MISSING)
    from swath_bench import __main__ as bench

    parser.description = bench.DESCRIPTION
    parser.epilog = bench.EXAMPLES.format(prog="swath bench") + READ_NEXT
    bench.add_arguments(parser)
