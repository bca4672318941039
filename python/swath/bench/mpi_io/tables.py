"""The table: each cell without and with the drop-in, and the floor."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.bench.mpi_io.cells import CASES, CONTIGUOUS
from swath.bench.mpi_io.running import WITH, WITHOUT
from swath.commands import output

NUMBERS = ("without", "with", "ratio", "first", "floor", "set_view µs", "MiB of set_view", "MiB in all")


def show(console: Console, result: dict[str, Any]) -> None:
    """The table, what was left out, and how it was measured."""
    options = result["options"]
    ranks = " and ".join(map(str, options["ranks"]))
    console.print(
        Text(f"MPI-IO programs without and with the drop-in: {ranks} ranks, page cache; MB/s", style="bold")
    )
    table = output.table("case", "ranks", *NUMBERS, "wanted", right=("ranks", *NUMBERS))
    cells = result["summary"]["cells"]
    for cell in cells:
        table.add_row(*_row(cell))
    console.print(table)
    for name in dict.fromkeys(cell["case"] for cell in cells):
        console.print(Text(f"{name}: {CASES[name].says}", style="dim"), soft_wrap=True)
    for reason in [*result["left_out"], *_refused(cells)]:
        console.print(Text(f"left out: {reason}", style="dim"), soft_wrap=True)
    console.print(Text(_how(result), style="dim"), soft_wrap=True)


def _row(cell: dict[str, Any]) -> list[str]:
    both = (cell[WITHOUT], cell[WITH])
    ratios = [f"{cell[name]:.1f}" if cell[name] else "–" for name in ("ratio", "first_ratio")]
    floor = f"{cell['bytes'] / cell['floor_seconds'] / 1e6:,.0f}" if cell["floor_seconds"] else "–"
    return [
        f"{cell['case']}, {cell['access']} {cell['direction']}",
        str(cell["ranks"]),
        *(f"{one['bytes_per_second'] / 1e6:,.0f}" if one else "–" for one in both),
        *ratios,
        floor,
        _pair(both, "view_seconds", 1e6),
        _pair(both, "view_memory_bytes", 1 / 2**20),
        _pair(both, "memory_bytes", 1 / 2**20),
        _verdict(cell),
    ]


def _pair(both: tuple[Any, Any], name: str, factor: float) -> str:
    return " / ".join(f"{one[name] * factor:,.0f}" if one else "–" for one in both)


def _verdict(cell: dict[str, Any]) -> str:
    if cell["reached"] is None:
        return "–"
    word = "reached" if cell["reached"] else "missed"
    if CASES[cell["case"]].kind == CONTIGUOUS and cell[WITHOUT]:
        more = (cell[WITH]["call_seconds"] - cell[WITHOUT]["call_seconds"]) * 1e6
        return f"{word}: {more:+,.0f} µs a call"
    return f"{word}: {cell['floor_share']:.2f} x floor"


def _refused(cells: list[dict[str, Any]]) -> list[str]:
    return [
        f"{cell['case']}, {cell['access']} {cell['direction']}, {cell['ranks']} ranks, {contender}: {reason}"
        for cell in cells
        for contender, reason in cell["refused"].items()
    ]


def _how(result: dict[str, Any]) -> str:
    options = result["options"]
    cached = [run["cached_bytes"] for cell in result["cells"] for run in cell["runs"]]
    whole = [run["file_bytes"] for cell in result["cells"] for run in cell["runs"]]
    known = None not in cached and cached
    said = f"cachestat: {sum(cached) / sum(whole):.0%} of the files" if known else "the files were just written"
    return (
        f"Medians of {options['rounds']} processes of {options['repetitions']} repetitions each, with and without in "
        "turn, after one repetition that does not count (first: the ratio of that one). A repetition makes the types, "
        "sets the view, and moves; each one is checked, gaps too.\n"
        "without / with: MiB are what all ranks together had more than before they opened the file, at their most. "
        "floor: one contiguous pread or pwrite of as many bytes by each rank.\n"
        "wanted: noncontiguous, 5 x without or 0.7 x the floor; contiguous, not slower beyond noise or 50 µs a call. "
        f"This is the page cache, not a device ({said})."
    )
