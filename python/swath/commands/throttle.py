"""`swath throttle`: which targets are throttled now, how, and why. `swath.throttle` limits their streams."""

from __future__ import annotations

import argparse
import sys

from swath.base import units
from swath.commands import output
from swath.throttle import throttle
from swath.throttle.throttle import LaneStatus, PatternStatus, TargetStatus

HELP = "how many streams each target serves now, and why"
DESCRIPTION = """\
Streams of your programs on this node that have files open: how many each target
(disk, server) serves at a time, who waits, and what was decided on what evidence.
"""

EPILOG = """\
examples:
  swath throttle status                    every target that is in use now
  swath throttle status --decisions 50     with more of what was decided
  swath throttle status --json             for programs

Programs are seen while they run. How to set or switch off limits:
  swath.open(..., streams=4)               one array: a number, "auto", or None
  SWATH_STREAMS=none python program.py     one run; also auto, 4, read=4,write=2
  SWATH_STREAMS_SCOPE=user                 share tokens with your other programs
  ~/.config/swath/swath.ini                always: [streams] streams = none

read next: docs/streams.md
"""

DECISIONS_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `swath throttle status`."""
    parser.add_argument("what", choices=["status"], help="what to show")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--decisions", type=int, default=DECISIONS_SHOWN, metavar="N", help="of each target the latest N (%(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Print the targets that are throttled now."""
    targets, reason = throttle.status_and_reason()
    if reason:
        print(f"swath: not every program can be seen: {reason}", file=sys.stderr)
    if options.json:
        output.print_json([target.to_dict() for target in targets])
        return 0
    if not targets and not reason:
        print("no program of yours has a file open through Swath on this node")
    for target in targets:
        _print_target(target, options.decisions)
    return 0


def _print_target(target: TargetStatus, decisions: int) -> None:
    console = output.console()
    console.print(f"{target.target}: {target.streams} streams ({target.scope})")
    table = output.table(
        "", "requests", "limit", "served", "waiting", "MB/s", "tokens", "waited", "longest", "taken back",
        right=("limit", "served", "waiting", "MB/s", "tokens", "waited", "longest", "taken back"),
    )  # fmt: skip
    for name, lane in (("reads", target.reads), ("writes", target.writes)):
        if lane.grants == 0 and lane.waiting == 0:
            continue
        for i, pattern in enumerate(lane.patterns or [None]):
            table.add_row(name if i == 0 else "", *_pattern_cells(pattern), *(_lane_cells(lane) if i == 0 else ()))
    if table.row_count:
        console.print(table)
    shown = target.decisions[-decisions:] if decisions > 0 else []
    for decision in shown:
        console.print(f"  {throttle.seconds_ago(decision):8.1f} s ago  {decision}")


def _pattern_cells(pattern: PatternStatus | None) -> tuple[str, str]:
    if pattern is None:
        return "", "none"
    limit = "none" if pattern.limit == 0 else str(pattern.limit)
    return pattern.requests, limit if pattern.holding else f"{limit}?"


def _lane_cells(lane: LaneStatus) -> tuple[str, ...]:
    rates = [pattern.rate for pattern in lane.patterns if pattern.rate > 0]
    return (
        str(lane.active),
        str(lane.waiting),
        f"{rates[0] / 1e6:.1f}" if rates else "",
        str(lane.grants),
        units.in_seconds(lane.wait_seconds),
        units.in_seconds(lane.wait_seconds_max),
        str(lane.taken_back),
    )
