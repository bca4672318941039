"""The table for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import output
from swath_bench import comparison
from swath_bench.files.cases import CASES, SWATH
from swath_bench.files.summary import in_words

NOTE = (
    "Seconds from opening the file until the values are in memory, or the target is on the medium: files of peers are "
    "synced after they were closed, within the time. Medians; Swath ÷ fastest: less than 1 is faster."
)


def show(console: Console, result: dict[str, Any]) -> None:
    """Print every cell, the number of cells that miss the goal, and the absent contenders with their reasons."""
    summary, options = result["summary"], result["options"]
    shape = " × ".join(f"{extent:,}" for extent in result["sources"]["shape"])
    stored = units.in_bytes(result["sources"]["source.nc4"])
    console.print(Text(f"Files: {shape} float32, {units.in_bytes(options['bytes'])}, deflated {stored}", style="bold"))
    numbers = ("ranks", "Swath, s", "fastest peer, s", "Swath ÷ fastest")
    table = output.table("case", "cache", *numbers, "missed", "others, s", right=numbers)
    for cell in summary["cells"]:
        table.add_row(cell["case"], cell["cache"], str(cell["ranks"]), *_figures(cell), Text(_others(cell)))
    console.print(table)
    for line in _words(summary, result["conditions"]):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _figures(cell: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return Swath's seconds, the fastest peer's, the ratio and the verdict."""
    own = cell["contenders"].get(SWATH)
    ours = "–" if own is None else _seconds(own)
    if cell["ratio"] is None:
        return ours, "none measured", "–", ""
    fastest = cell["fastest_peer"]
    wanted = CASES[cell["case"]].wanted
    verdict = "" if cell["is_reached"] else f"> {wanted:g}"
    return ours, f"{_seconds(cell['contenders'][fastest])} ({fastest})", f"{cell['ratio']:.2f}", verdict


def _others(cell: dict[str, Any]) -> str:
    others = {who: e for who, e in cell["contenders"].items() if who not in (SWATH, cell["fastest_peer"])}
    ordered = sorted(others, key=lambda who: float(others[who]["median"]))
    return "; ".join(f"{who} {_seconds(others[who])}" for who in ordered)


def _words(summary: dict[str, Any], conditions: dict[str, Any]) -> list[str]:
    lines = [NOTE]
    if summary["compared"]:
        missed = f": {', '.join(summary['missed'])}" if summary["missed"] else ""
        lines.append(
            f"Of {summary['compared']} cells Swath takes at most half of the fastest peer's time in "
            f"{summary['twice']}, and more than is wanted in {len(summary['missed'])}{missed}."
        )
    lines += [
        f"Memory that is not page cache, {in_words(cell)}: {_memory(cell)}."
        for cell in summary["cells"]
        if CASES[cell["case"]].watches_memory and cell["contenders"]
    ]
    if summary["alone"]:
        lines.append(f"Without any peer: {', '.join(summary['alone'])}.")
    lines += comparison.refusals(summary["refused"], "not measured")
    lines.append("Versions: " + ", ".join(f"{name} {version}" for name, version in conditions["versions"].items()))
    taking_part = {who for cell in summary["cells"] for who in cell["contenders"]}
    hints = [f"{who}: {words}" for who, words in conditions["hints"].items() if words and who in taking_part]
    return [*lines, "Hints: " + ". ".join(hints) + "."]


def _memory(cell: dict[str, Any]) -> str:
    return ", ".join(f"{who} {units.in_bytes(entry['peak_bytes'])}" for who, entry in cell["contenders"].items())


def _seconds(entry: dict[str, Any]) -> str:
    seconds = entry["median"]
    return f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.2f}" if seconds >= 0.1 else f"{seconds:.4f}"
