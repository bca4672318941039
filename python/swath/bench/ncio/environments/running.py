"""Running a peer program: what it is asked, and what it left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from swath.bench.environments import Made, run_program
from swath.bench.ncio.environments.known import Run
from swath.bench.ncio.pattern import Pattern

HERE = os.path.dirname(os.path.abspath(__file__))
SILENT_SECONDS = 120.0
"""How long a program may go without a sign of life, beside ten times the limit of an operation."""


def run(
    made: Made, asked: Run, ranks: int, cells: Sequence[Mapping[str, Any]], options: Mapping[str, Any], folder: str
) -> tuple[dict[int, dict[str, Any]], str]:
    """What the program says of each cell, by the cell's index; and why it did not come to its end, or "".

    Whatever happens, no process of it is left behind.
    """
    folder = os.path.abspath(folder)  # the program works in it
    request = {
        "ranks": ranks,
        "contenders": asked.contenders,
        "cells": [
            {**_without_contenders(cell), "index": i, "pattern": pattern_of(cell)} for i, cell in enumerate(cells)
        ],
        "options": dict(options),
        "folder": folder,
    }
    lines, failed = run_program(
        made,
        _command(made, asked, ranks),
        request,
        folder=folder,
        modules=HERE,
        silent_seconds=SILENT_SECONDS + 10 * options["limit_seconds"],
        settings=asked.settings,
    )
    found = {line["index"]: line for line in lines if "index" in line}
    return found, f"{made.environment.name}: {failed}" if failed else ""


def pattern_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """What a program must know of a cell, so that it need not know what "nc-c" is."""
    pattern = Pattern(cell["ranks"], cell["region_count"], cell["region_bytes"], cell["spacing_bytes"], cell["case"])
    return {
        "file_shape": pattern.file_shape,
        "memory_shape": pattern.memory_shape,
        "units": pattern.units,
        "row_starts": [pattern.first_element(rank) // pattern.file_shape[1] for rank in range(pattern.ranks)],
        "row_step": pattern.ranks if pattern.file_spaced else 1,
    }


def _without_contenders(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if key != "contenders"}


def _command(made: Made, asked: Run, ranks: int) -> list[str]:
    program = f"peers.{made.environment.name}"
    if not asked.mpi:
        return [made.program("python"), "-m", program]
    # More ranks than cores is what is asked for; nobody is bound, as with the first MPI. `-m mpi4py` ends all ranks
    # when one fails.
    start = [made.program("mpiexec"), "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "-n", str(ranks)]
    return [*start, made.program("python"), "-m", "mpi4py", "-m", program]
