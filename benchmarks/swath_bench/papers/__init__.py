"""The four papers' tables beside simulated ones: the order of methods, rank correlation, factors at the extremes.

Numbers of the papers are in `data/`, each with its table. The times of the machines are simulated (`swath.simulate`;
for the stream throttling paper the virtual time of MADbench), so they say which method is faster and by how much, not
how long a run took in 1993. docs/simulation.md says what comes out, and why the rest does not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console

from swath.commands import output
from swath.errors import ArgumentError
from swath_bench.papers import applications, ncio, throttling, two_phase
from swath_bench.papers.cells import Cell
from swath_bench.papers.summary import summarise

__all__ = ["PAPERS", "Options", "measure", "needs", "quick_options", "show", "summarise"]

PAPERS: dict[str, Callable[[Options], Iterator[Cell]]] = {}


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        papers: which papers.
        requests_max: cells with more requests of the program are left out, as they take long to simulate.
        tables: which tables; none: all.
        seed: seed of the simulations.
    """

    papers: tuple[str, ...] = ("two-phase", "throttling", "ncio", "applications")
    requests_max: int = 1_100_000
    tables: tuple[str, ...] = ()
    seed: int = 1

    in_one_process = True
    """It starts no processes, and needs no MPI."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.papers if name not in PAPERS]
        if unknown:
            raise ArgumentError(f"--papers {unknown[0]}: expected of {', '.join(PAPERS)}")


PAPERS.update(
    {
        "two-phase": two_phase.cells,
        "throttling": throttling.cells,
        "ncio": ncio.cells,
        "applications": applications.cells,
    }
)


def quick_options() -> Options:
    """Few requests: they test that the benchmark works."""
    return Options(papers=("two-phase",), requests_max=70_000, tables=("table 8", "table 10"))


def needs(options: Options) -> dict[str, int]:
    """Bytes of disk and memory."""
    return {"disk": 0, "memory": 1 << 30}


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Simulate every cell of the chosen papers."""
    found: list[dict[str, Any]] = []
    for paper in options.papers:
        for cell in PAPERS[paper](options):
            if options.tables and cell.table not in options.tables:
                continue
            found.append(cell.carried_out(options.requests_max))
            keep({"cells": found})
    return {"cells": found}


def show(console: Console, result: dict[str, Any]) -> None:
    """Print each table, ours beside theirs, and what follows."""
    for table in result["summary"]["tables"]:
        console.print(f"\n{table['paper']}, {table['table']}", style="bold")
        rows = output.table("setting", "variant", "theirs", "ours", "ours / theirs", right=("theirs", "ours"))
        for cell in result["cells"]:
            if (cell["paper"], cell["table"]) == (table["paper"], table["table"]):
                rows.add_row(*_row(cell))
        console.print(rows)
        console.print(table["sentence"])
    for sentence in result["summary"]["sentences"]:
        console.print(sentence)


def _row(cell: dict[str, Any]) -> tuple[str, ...]:
    if cell["ours"] is None:
        return cell["setting"], cell["variant"], f"{cell['theirs']:g}", "-", cell["left_out"]
    theirs = f"number {cell['theirs']:g}" if cell["is_position"] else f"{cell['theirs']:.4g} {cell['unit']}"
    ratio = "" if cell["is_position"] or cell["unit"] == throttling.RELATIVE else f"{cell['ours'] / cell['theirs']:.2f}"
    return cell["setting"], cell["variant"], theirs, f"{cell['ours']:.4g} {cell['unit']}", ratio
