"""A table of runs, one of advice, and one of disks."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import output
from swath_bench.advice.options import HERE
from swath_bench.advice.summary import difference

NOTE = """\
I/O of all ranks together, in the run and in the replay of the unchanged run, in real time on the same disk (the median
of the rounds). Gains are seconds from begin to end. On modelled disks gains are replayed in simulated time, and reads
ahead and writes behind cannot be replayed there. Order: all changes that gain, as advised beside the best order. The
last table leaves out runs with less than 10 ms of I/O: what a replay takes itself is of this size."""


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the tables."""
    _show_runs(console, result)
    _show_advice(console, result)
    _show_disks(console, result)
    for reason in result["left_out"]:
        console.print(Text(f"left out: {reason}", style="dim"), soft_wrap=True)
    console.print(Text(NOTE, style="dim"), soft_wrap=True)


def _show_runs(console: Console, result: dict[str, Any]) -> None:
    numbers = ("I/O of the run", "of its replay", "difference", "order: advised", "best")
    table = output.table("program", "disk", *numbers, right=numbers, unbroken=("program",))
    for cell in result["cells"]:
        order = cell["order"]
        orders = ("", "") if order is None else [units.in_seconds(order[name]) for name in ("advised", "best")]
        seconds = [units.in_seconds(cell[name]) for name in ("run_seconds", "replay_seconds")]
        table.add_row(cell["case"], _name(cell["disk"]), *seconds, f"{difference(cell):+.0%}", *orders)
    console.print(table)
    console.print()


def _show_advice(console: Console, result: dict[str, Any]) -> None:
    numbers = ("predicted", "replayed", "error")
    table = output.table("program", "disk", "advice", *numbers, right=numbers, unbroken=("program",))
    for cell in result["cells"]:
        for one in cell["advice"]:
            replayed = one["replayed"]
            shown = ("-", "") if replayed is None else (_signed(replayed), _error(one["predicted"], replayed))
            table.add_row(
                cell["case"], _name(cell["disk"]), Text(one["title"]), units.in_seconds(one["predicted"]), *shown
            )
    console.print(table)
    console.print()


def _show_disks(console: Console, result: dict[str, Any]) -> None:
    numbers = (
        "runs",
        "replay beside run",
        "advice",
        "replayed",
        "predicted beside replayed",
        "right sign",
        "best order",
    )
    table = output.table("disk", *numbers, right=numbers)
    for one in result["summary"]["disks"]:
        table.add_row(
            _name(one["disk"]),
            str(one["runs"]),
            _percent(one["replay_difference"]),
            str(one["advice"]),
            str(one["replayed"]),
            _percent(one["prediction_error"]),
            _percent(one["right_sign"]),
            f"{one['best_orders']} of {one['orders']}",
        )
    console.print(table)
    console.print()


def _name(disk: str) -> str:
    return "this folder" if disk == HERE else f"modelled {disk}"


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else ''}{units.in_seconds(abs(seconds))}"


def _error(predicted: float, replayed: float) -> str:
    return f"{predicted / replayed - 1:+.0%}" if replayed > 0 else "wrong sign"


def _percent(part: float | None) -> str:
    return "" if part is None else f"{part:.0%}"
