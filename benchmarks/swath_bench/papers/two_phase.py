"""The two-phase paper: arrays on the Delta and the nCUBE 2, read directly and by two-phase (tables 2 to 12)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from swath.simulation.operations import Operation, distributed
from swath.simulation.simulate import simulate
from swath.space import TABLE_1
from swath_bench.papers.cells import Cell, data

PAPER = "two-phase (1993)"
REDISTRIBUTE = "redistribute"


def cells(options: Any) -> Iterator[Cell]:
    """Yield the cells of all tables."""
    for group in data("two-phase-1993").values():
        tables = {name: value for name, value in group.items() if name.startswith("table")}
        for table, by_distribution in tables.items():
            for distribution, by_method in by_distribution.items():
                for method, rows in by_method.items():
                    yield from (_cell(group, table, distribution, method, *row, options.seed) for row in rows)


def _cell(
    group: dict[str, Any],
    table: str,
    distribution: str,
    method: str,
    *rest: int,  # n in K, processors, ms, seed
) -> Cell:
    thousands, ranks, milliseconds, seed = rest
    extent = thousands * group["thousand"]
    operation = distributed(
        (extent, extent),
        "u1",
        TABLE_1[distribution],
        ranks=ranks,
        order=group["order"],
        method="auto" if method == REDISTRIBUTE else method,
        name=f"{distribution} {method}",
    )
    if method == REDISTRIBUTE:
        operation = _redistribution(operation, ranks)
    setting = f"{thousands}K, {ranks} processors"
    # The methods of one distribution are compared, and the distributions of direct access.
    groups = (f"{setting}, {distribution}", *([f"{setting}, direct"] if method == "direct" else []))
    return Cell(
        PAPER,
        table,
        setting,
        f"{distribution} {method}",
        milliseconds / 1e3,
        functools.partial(_seconds, group["machine"], operation, ranks, seed),
        groups=groups if method != REDISTRIBUTE else (),
        requests=0 if method != "direct" else _requests(distribution, group["order"], extent, ranks),
    )


def _redistribution(operation: Operation, ranks: int) -> Operation:
    """Return the redistribution in memory from the conforming distribution to that of the operation."""
    conforming = TABLE_1["column-block" if operation.order == "F" else "row-block"]
    read = distributed(operation.shape, operation.dtype, conforming, ranks=ranks)
    return dataclasses.replace(operation, distribution=read.distribution, redistributed_to=operation.distribution)


def _seconds(machine: str, operation: Operation, ranks: int, seed: int) -> float:
    return simulate(operation, machine, ranks=ranks, seed=seed).seconds


def _requests(distribution: str, order: str, extent: int, ranks: int) -> int:
    """Return R_dist of table 1; in a file in row-major order rows and columns change places."""
    across, _, how = distribution.partition("-")
    conforms = (across == "column") == (order == "F")
    if how == "block":
        return ranks if conforms else extent * ranks
    return extent if conforms else extent * extent
