"""Tables in the shape of tables 7 and 8 and of figures 8 and 9 of the paper."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.commands import output
from swath_bench.applications.options import CASES, OPTIMISATIONS

NOTE = """\
Seconds of the slowest rank: of opening, writing and closing, with everything on the medium at the end, and of the whole
run without reading back. NASA7's are of one process, of all kernels together, and of its reads and writes. Every
program has checked its answer. A file a rank (epio) is not compared with one that all ranks share. The paper, figure 8:
BTIO's total time fell by 46 and 49 % at 36 and 64 processors. Table 8 marks what made input and output 20 % shorter or
more, on the most ranks. SCF and FFT: swath bench scf, swath bench fft."""


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the tables and the sentences."""
    summary = result["summary"]
    groups = dict.fromkeys((cell["case"], cell["disk"]) for cell in summary["cells"])
    for name, disk in groups:
        _show_program(console, [c for c in summary["cells"] if (c["case"], c["disk"]) == (name, disk)])
    if summary["marks"]:
        _show_marks(console, summary["marks"])
    for reason in result["left_out"]:
        console.print(Text(f"left out: {reason}", style="dim"), soft_wrap=True)
    console.print(Text(NOTE, style="dim"), soft_wrap=True)
    for said in summary["sentences"]:
        console.print(Text(said), soft_wrap=True)


def _show_program(console: Console, cells: list[dict[str, Any]]) -> None:
    case = CASES[cells[0]["case"]]
    where = "this folder" if cells[0]["disk"] is None else f"MODELLED DISK {cells[0]['disk']}"
    size = cells[0]["variants"][case.after]["bytes"] / 1e6
    console.print(Text(f"{case.title}, {size:,.1f} MB, {where}", style="bold"), soft_wrap=True)
    numbers = ("ranks", "I/O, s", "total, s", "MB/s", "less I/O", "less in all")
    table = output.table("variant", *numbers, right=numbers, unbroken=("variant",))
    for cell in cells:
        for variant, found in cell["variants"].items():
            role = {case.before: " (before)", case.after: " (after)"}.get(variant, "")
            saved = ("", "")
            if variant == case.after:
                saved = (f"{cell['io_saved_percent']:.0f} %", f"{cell['total_saved_percent']:.0f} %")
            table.add_row(
                f"{variant}{role}",
                str(cell["ranks"]),
                f"{found['io_seconds']:.3f}",
                f"{found['total_seconds']:.3f}",
                f"{found['bytes_per_second'] / 1e6:,.1f}",
                *saved,
            )
    console.print(table)
    console.print()


def _show_marks(console: Console, marks: dict[str, dict[str, bool]]) -> None:
    console.print(Text("Table 8: what made a significant difference, on the most ranks", style="bold"))
    table = output.table("application", *OPTIMISATIONS)
    for name, of_program in marks.items():
        table.add_row(CASES[name].title, *("√" if of_program[each] else "" for each in OPTIMISATIONS))
    console.print(table)
    console.print()
