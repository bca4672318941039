"""The tables: each cell without and with the drop-in, and the floor."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.commands import output
from swath_bench.mpi_io.cells import CASES, CONTIGUOUS
from swath_bench.mpi_io.running import WITH, WITHOUT

SHORT = {"collective": "coll.", "independent": "indep."}
SPEEDS = ("without", "with", "ratio", "first", "floor")
COSTS = ("set_view, ms", "processor, ms", "memory of set_view, MiB", "memory in all, MiB")


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the tables, the cases that were left out, and how it was measured."""
    options = result["options"]
    ranks = " and ".join(map(str, options["ranks"]))
    title = f"MPI-IO programs without and with the drop-in: {ranks} ranks, page cache"
    console.print(Text(f"{title}; MB/s", style="bold"))
    speeds = output.table("", "ranks", *SPEEDS, "wanted", right=("ranks", *SPEEDS))
    costs = output.table("without / with", "ranks", *COSTS, right=("ranks", *COSTS))
    cells = result["summary"]["cells"]
    for cell in cells:
        name = f"{cell['case']}, {SHORT[cell['access']]} {cell['direction']}"
        speeds.add_row(name, str(cell["ranks"]), *_speeds(cell), _verdict(cell))
        costs.add_row(name, str(cell["ranks"]), *_costs(cell))
    console.print(speeds)
    console.print(costs)
    for name in dict.fromkeys(cell["case"] for cell in cells):
        console.print(Text(f"{name}: {CASES[name].says}", style="dim"), soft_wrap=True)
    for reason in [*result["left_out"], *_refused(cells)]:
        console.print(Text(f"left out: {reason}", style="dim"), soft_wrap=True)
    console.print(Text(_how(result), style="dim"), soft_wrap=True)


def _speeds(cell: dict[str, Any]) -> list[str]:
    both = (cell[WITHOUT], cell[WITH])
    floor = f"{cell['bytes'] / cell['floor_seconds'] / 1e6:,.0f}" if cell["floor_seconds"] else "–"
    return [
        *(f"{one['bytes_per_second'] / 1e6:,.0f}" if one else "–" for one in both),
        *(f"{cell[name]:.1f}" if cell[name] else "–" for name in ("ratio", "first_ratio")),
        floor,
    ]


def _costs(cell: dict[str, Any]) -> list[str]:
    return [
        _pair(cell, "view_seconds", "{:,.2f}", 1e3),
        _pair(cell, "processor_seconds", "{:,.0f}", 1e3),
        _pair(cell, "view_memory_bytes", "{:,.0f}", 1 / 2**20),
        _pair(cell, "memory_bytes", "{:,.0f}", 1 / 2**20),
    ]


def _pair(cell: dict[str, Any], name: str, form: str, factor: float) -> str:
    return " / ".join(form.format(one[name] * factor) if one else "–" for one in (cell[WITHOUT], cell[WITH]))


def _verdict(cell: dict[str, Any]) -> str:
    if cell["reached"] is None:
        return "–"
    word = "reached" if cell["reached"] else "missed"
    if CASES[cell["case"]].kind == CONTIGUOUS and cell[WITHOUT]:
        without, with_it = (cell[name]["call_seconds"] * 1e6 for name in (WITHOUT, WITH))
        return f"{word}: {without:,.1f} / {with_it:,.1f} µs a call ({cell['call_ratio']:.2f})"
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
        "processor: of all ranks, waiting that spins or yields included. memory: what all ranks together had more than "
        "before they opened the file, at their most. "
        "floor: one contiguous pread or pwrite of as many bytes by each rank.\n"
        "wanted: noncontiguous, 5 x without or 0.7 x the floor; contiguous (without / with a call): 1.1 x as long or "
        f"0.5 µs more, 1.5 x with busy cores. {'A loop ran on each core. ' if options.get('busy') else ''}"
        f"This is the page cache, not a device ({said})."
    )
