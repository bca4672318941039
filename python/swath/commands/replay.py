"""`swath replay`: carries out the file operations of a traced run again, on scratch files, as they were or changed."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from rich.table import Table

from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError
from swath.replay.actions import Run
from swath.replay.changes import parsed
from swath.replay.loading import load
from swath.replay.replaying import MODELLED_DISK, Expected, changed, expected
from swath.replay.replaying import run as run_again
from swath.replay.result import Result

HELP = "carry out the file operations of a traced run again, on scratch files"
DESCRIPTION = """\
Carry out what a traced program did with files once more: the same operations, of
the same ranks, in the same order, with the same gaps in time; and print how long
it took, beside the run. Only scratch files in a new folder are touched, and
nothing is left of them. --with changes the run first: so a change is tried out
before anybody programs it.
"""

EPILOG = """\
examples:
  swath replay run7                           the run as it was
  swath replay run7 --dry-run                 the room and time that it needs
  swath replay run7 --with merge              calls that follow each other become one
  swath replay run7 --with collective --with method=two-phase
  swath replay run7 --store disk:p690-scsi    on a modelled disk, in simulated time
  swath replay job.darshan --store /scratch   a log of Darshan, with DXT

changes: collective, all-ranks=NUMBER, method=NAME, streams=NUMBER, layout=ORDER or
layout=64x64, prefetch=DEPTH, write-behind=DEPTH, merge=BYTES, sieve, cache=BYTES,
one-sync, keep-open, aggregators=NUMBER, balance=FRACTION; with ,file=NAME and
,phase=NUMBER for a part.

read next: docs/replay.md, and docs/trace.md for traces.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath replay TRACE`."""
    parser.add_argument("trace", metavar="TRACE", help="the folder of a trace, one file of it, or a log of Darshan")
    parser.add_argument(
        "--with",
        dest="changes",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="change the run first; several are made in their order",
    )
    parser.add_argument(
        "--store",
        metavar="FOLDER",
        default="",
        help="where the scratch files go: a folder, or disk:NAME, a modelled disk (default: beside the run's files)",
    )
    parser.add_argument("--no-gaps", action="store_true", help="do not wait between calls as the program computed")
    parser.add_argument(
        "--cache",
        choices=("cold", "warm"),
        help="drop the scratch files from the page cache first, or not (default: as the run's reads were)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON: an object")
    parser.add_argument("--dry-run", action="store_true", help="print the room and time that it needs, and end")


def run(options: argparse.Namespace) -> int:
    """Replay the run, and print what it took."""
    changes = [parsed(text) for text in options.changes]
    if options.store and not options.store.startswith(MODELLED_DISK) and not os.path.isdir(options.store):
        raise ArgumentError(f"replay: --store {options.store}: there is no such folder")
    traced = load(options.trace)
    needs = expected(changed(traced, changes), options.store, gaps=not options.no_gaps)
    if options.dry_run:
        if options.json:
            output.print_json(asdict(needs))
        else:
            _print_expected(traced, needs)
        return 0
    if not options.json:
        _print_expected(traced, needs)
    cold = None if options.cache is None else options.cache == "cold"
    result = run_again(traced, needs.store, changes, gaps=not options.no_gaps, cold=cold)
    if options.json:
        output.print_json(asdict(result))
    else:
        _print_result(result)
    return 0


def _print_expected(traced: Run, needs: Expected) -> None:
    console = output.console()
    calls = _counted(sum(1 for _ in traced.every_action()), "call")
    console.print(
        f"{traced.path}: {calls} of {_counted(traced.ranks, 'rank')}, in {needs.store}: "
        f"{units.in_bytes(needs.room_bytes)} of room; about {units.in_seconds(needs.seconds)}, of which "
        f"{units.in_seconds(needs.gap_seconds)} are gaps",
        highlight=False,
    )
    if needs.making_seconds is None:
        console.print("Making its files takes some time more: swath calibrate would say how long.", highlight=False)


def _counted(count: int, noun: str) -> str:
    """Return "1 rank" or "2 ranks"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _print_result(result: Result) -> None:
    console = output.console()
    table = Table(box=None, pad_edge=False)
    for name in ("", "I/O", "run", "calls", "bytes"):
        table.add_column(name, justify="left" if not name else "right")
    for rank, one in enumerate(result.ranks):
        table.add_row(f"rank {rank}", *_times(one.seconds, one.traced_seconds), f"{one.calls:,}", _bytes(one.bytes))
    table.add_row("together", *_times(result.seconds, result.traced_seconds), f"{result.calls:,}", _bytes(result.bytes))
    table.add_row("from begin to end", *_times(result.elapsed_seconds, result.traced_elapsed_seconds), "", "")
    console.print(table)
    console.print(_verdict(result), highlight=False)
    for line in (*result.reasons, *result.notes):
        console.print(f"- {line}", highlight=False)


def _times(*seconds: float) -> list[str]:
    return [units.in_seconds(one) for one in seconds]


def _bytes(count: int) -> str:
    return units.in_bytes(count)


def _verdict(result: Result) -> str:
    more = f"{abs(result.difference):.0%} {'more' if result.difference > 0 else 'less'} time for I/O than the run"
    if result.is_reproduced is None:
        return f"With {', then '.join(result.changes)}: {more}."
    if result.is_reproduced:
        return f"The run is reproduced within {max(abs(result.difference), 0.01):.0%}."
    return f"The run is not reproduced: {more}. Why this may be:"
