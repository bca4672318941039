"""`swath bench`: measure Swath beside its peers; the same as `python -m swath.bench`."""

from __future__ import annotations

import argparse
from typing import Any

from swath.bench import __main__ as bench

READ_NEXT = """
read next: docs/performance.md (what it printed, and where); swath calibrate, by
  which predictions and choices get better.
"""


def add_parser(subparsers: Any, name: str) -> argparse.ArgumentParser:
    """`swath bench [BENCHMARK] ...`."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help="measure, beside the peers; starts its own ranks",
        description=bench.DESCRIPTION,
        epilog=bench.EXAMPLES.format(prog="swath bench") + READ_NEXT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bench.add_arguments(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure, print, record."""
    return bench.run(options)
