"""`swath characterise`: what a traced program did with files, in tables."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from swath.base.units import in_bytes, in_seconds
from swath.commands import output
from swath.trace.operations_table import OperationsTable, operations_table
from swath.trace.reading import read_trace

HELP = "print what a traced program did with files"
DESCRIPTION = """\
Print what a program did with files: how many operations of each kind, how long
they took, how many bytes they moved, and their part of the time of the run.
"""

EPILOG = """\
examples:
  swath trace --into run7 mpiexec -n 4 ./program
  swath characterise run7

read next: docs/trace.md.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add those of `swath characterise TRACE`."""
    parser.add_argument("trace", metavar="TRACE", help="the folder of a trace, or one file of it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the table."""
    table = operations_table(read_trace(options.trace))
    if options.json:
        output.print_json(asdict(table))
    else:
        _print(table)
    return 0


def _print(table: OperationsTable) -> None:
    print(f"{table.processes} processes, {in_seconds(table.execution_seconds)} of all together\n")
    numbers = ("calls", "seconds", "bytes", "% of I/O", "% of the run")
    rows = output.table("operation", *numbers, right=numbers)
    for one in table.operations:
        name = f"{one.category} {one.name}" + (f" ({one.failed} failed)" if one.failed else "")
        rows.add_row(name, *_numbers(one.calls, one.seconds, one.bytes, table))
    calls, moved = (sum(getattr(one, what) for one in table.operations) for what in ("calls", "bytes"))
    rows.add_row("all", *_numbers(calls, table.io_seconds, moved, table))
    output.console().print(rows)
    for why in table.cut:
        print(f"not complete: {why}")


def _numbers(calls: int, seconds: float, moved: int, table: OperationsTable) -> tuple[str, ...]:
    parts = (_percent(seconds, table.io_seconds), _percent(seconds, table.execution_seconds))
    return f"{calls:,}", f"{seconds:.3f}", in_bytes(moved), *parts


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole > 0 else "-"
