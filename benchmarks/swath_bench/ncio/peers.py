"""NCIO's peers in separate environments: a second MPI, h5py, zarr, TensorStore.

A peer without MPI is one process that moves the bytes of all ranks, each rank's into separate memory; its name says so.
A peer with another format keeps the same array in it.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from swath.errors import ArgumentError
from swath_bench import launch
from swath_bench.ncio.cells import Asked, Outcome, contender_entry
from swath_bench.ncio.pattern import Pattern
from swath_bench.peers.environments import Environments, Made
from swath_bench.peers.running import Program, by_cell

SILENT_SECONDS = 120.0
"""Longest time without a sign of life of a program, in addition to ten times the limit of an operation."""
ONE_PROCESS = "(1 process)"


@dataclasses.dataclass(frozen=True)
class Run:
    """A start of a peer's program.

    Attributes:
        peer: its environment, and its program.
        contenders: names of contenders that the program measures.
        settings: its environment variables.
        mpi: whether each rank is a process.
    """

    peer: str
    contenders: tuple[str, ...]
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mpi: bool = False


# OMPIO takes no hint for data sieving and reads its parameters when a program starts: each mode is a program.
_UNSIEVED = {f"OMPI_MCA_fbtl_posix_{direction}_datasieving": "0" for direction in ("read", "write")}

RUNS = (
    Run(
        "openmpi",
        ("openmpi independent, sieving", "openmpi collective", "openmpi collective, all aggregate"),
        mpi=True,
    ),
    Run("openmpi", ("openmpi independent, no sieving",), _UNSIEVED, mpi=True),
    Run("h5py", (f"h5py {ONE_PROCESS}",)),
    Run("zarr", (f"zarr {ONE_PROCESS}, 4 MiB chunks, not compressed", f"zarr {ONE_PROCESS}, defaults")),
    Run(
        "tensorstore",
        (f"tensorstore {ONE_PROCESS}, zarr3, 4 MiB chunks", f"tensorstore {ONE_PROCESS}, zarr3, defaults"),
    ),
)
NAMES = tuple(dict.fromkeys(run.peer for run in RUNS))
COMPRESSING = (f"zarr {ONE_PROCESS}, defaults",)
"""Peers that do not store the bytes unchanged."""


def measure(
    names: Sequence[str], ranks: int, cells: Sequence[dict[str, Any]], options: Mapping[str, Any], folder: str
) -> dict[str, Any]:
    """Return the times of these peers for `cells`, all with `ranks` ranks.

    Args:
        names: names from `NAMES`.
        ranks: number of ranks.
        cells: as in the JSON of `swath bench ncio`; "contenders" is ignored.
        options: as in the same JSON.
        folder: folder of the stores, which are removed again.

    Returns:
        "contenders": for each cell, in order, contender to its numbers as in the JSON; "hints" and "versions" of each.
        An environment that cannot be made, or a program that ends early, has the reason in "refused".

    Raises ArgumentError for an unknown name.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ArgumentError(f'--peers: "{unknown[0]}" is no environment: expected some of {", ".join(NAMES)}')
    told: dict[str, Any] = {"contenders": [{} for _ in cells], "hints": {}, "versions": {}}
    environments = Environments()
    failures: set[str] = set()
    for asked in (asked for name in names for asked in RUNS if asked.peer == name):
        made = environments.get(asked.peer)
        lines: dict[int, dict[str, Any]] = {}
        if isinstance(made, str):
            failed = made
        else:
            told["versions"].update(made.library_versions)
            launch.say("ncio", f"{asked.peer}, {ranks} ranks: {', '.join(asked.contenders)}")
            with tempfile.TemporaryDirectory(prefix=f"{asked.peer}-", dir=folder) as own:
                lines, failed = run(made, asked, ranks, cells, options, own)
        _add(told, cells, asked, options, lines, failed)
        for line in lines.values():
            told["hints"].update(line["hints"])
        if failed and failed not in failures:
            launch.say("ncio", failed)
            failures.add(failed)
    return told


def run(
    made: Made, asked: Run, ranks: int, cells: Sequence[Mapping[str, Any]], options: Mapping[str, Any], folder: str
) -> tuple[dict[int, dict[str, Any]], str]:
    """Return the program's answers by the index of the cell; and the reason if it did not finish, or ""."""
    request = {
        "ranks": ranks,
        "contenders": asked.contenders,
        "cells": [
            {**_without_contenders(cell), "index": i, "pattern": pattern_of(cell)} for i, cell in enumerate(cells)
        ],
        "options": dict(options),
        "folder": os.path.abspath(folder),  # the program works in it
    }
    silent_seconds = SILENT_SECONDS + 10 * options["limit_seconds"]
    program = Program(made, asked.peer, "regions", silent_seconds, asked.settings, ranks if asked.mpi else None)
    lines, failed = program.run(request, folder)
    return by_cell(lines), f"{asked.peer}: {failed}" if failed else ""


def pattern_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pattern of a cell as numbers, so the program does not need names such as "nc-c"."""
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


def _add(
    told: dict[str, Any],
    cells: Sequence[dict[str, Any]],
    asked: Run,
    options: Mapping[str, Any],
    lines: Mapping[int, dict[str, Any]],
    failed: str,
) -> None:
    """Add the measurements of the contenders of a run, and a refusal if there are none."""
    absent: dict[str, Any] = {"repetitions": [], "refused": failed or "it was not measured", "skipped": None}
    for index, cell in enumerate(cells):
        measured = lines.get(index, {"contenders": {}})["contenders"]
        for name in asked.contenders:
            found = measured.get(name, absent)
            operation = Asked(cell["direction"], cell["bytes"], options["sync"], options["keep_extremes"])
            entry = contender_entry(asked.peer, operation, Outcome(**found))
            if name in COMPRESSING:  # fewer bytes than requested prove nothing
                entry["reached_device"] = entry["reached_device"] or None
            told["contenders"][index][name] = entry
