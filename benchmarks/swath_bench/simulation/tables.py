"""The tables: seconds of all contenders, and the goals with their results."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import output
from swath_bench import comparison
from swath_bench.simulation.cases import CYCLIC_READ, DUMPED, GATHERED


def show(console: Console, result: dict[str, Any]) -> None:
    """Print a table for each case and MPI, and the missing contenders."""
    options, summary = result["options"], result["summary"]
    console.print(Text(f"A simulation's files, written from C: {options['ranks']} ranks", style="bold"))
    for cell, measured in zip(summary["cells"], result["cells"], strict=True):
        console.print(Text(f"{_says(cell['case'], measured['shape'], options)}; {cell['mpi']}"), soft_wrap=True)
        table = output.table("", "seconds", "lowest", "highest", right=("seconds", "lowest", "highest"))
        for who, one in cell["contenders"].items():
            table.add_row(who, *(f"{one[name]:.4f}" for name in ("median", "low", "high")))
        console.print(table)
        for goal in cell["goals"]:
            console.print(Text(_goal(goal)), soft_wrap=True)
    for line in comparison.refusals(summary["refused"], "not measured"):
        console.print(Text(line, style="dim"), soft_wrap=True)
    how = (
        f"Medians of {options['rounds']} rounds, without the highest and the lowest. In each round every contender "
        "runs once, in another order, after a small dump that does not count. Seconds run from creating the file until "
        "it is closed and on the medium. All elements of all files are compared, by h5py and netCDF4."
    )
    console.print(Text(how, style="dim"), soft_wrap=True)


def _says(case: str, shape: list[int], options: dict[str, Any]) -> str:
    sizes = " x ".join(map(str, shape))
    if case == CYCLIC_READ:
        return f"cyclic-read: CYCLIC(1) of {sizes} doubles, warm"
    if case == GATHERED:
        return f"gathered: {options['variables']} variables of {sizes} floats, a block a rank, shuffle and zlib level 1"
    return f"dump: {DUMPED} variables of {sizes} floats, {units.in_bytes(options['bytes'])}, not compressed"


def _goal(goal: dict[str, Any]) -> str:
    verdict = "" if goal["wanted"] is None else f" (wanted {goal['wanted']:g}: {'yes' if goal['reached'] else 'NO'})"
    return f"{goal['whom']} takes {goal['ratio']:.2f} times the time of {goal['who']}{verdict}"
