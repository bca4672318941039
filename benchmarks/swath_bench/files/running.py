"""Start every measurement in separate processes, all contenders of a case in turn."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from swath_bench import launch
from swath_bench.files import sources
from swath_bench.files.cases import CASES, NCCOPY, SWATH
from swath_bench.files.contenders import CONTENDERS
from swath_bench.files.contenders.base import not_installed
from swath_bench.files.contenders.nccopy import Nccopy
from swath_bench.files.options import Options
from swath_bench.launch import BenchmarkFailedError
from swath_bench.measure import shuffled
from swath_bench.peers.environments import SWATH as THIS_PYTHON
from swath_bench.peers.environments import Made
from swath_bench.peers.running import Program

PROGRAM = "swath_bench.files.program"
LIBRARIES = ("h5py", "netCDF4", "zarr", "xarray", "h5netcdf", "scipy", "hdf5plugin")


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure case after case; `keep` gets the results after each.

    Raises BenchmarkFailedError if Swath fails, or its result is wrong; a peer that does so is refused.
    """
    folder = os.path.abspath(folder)
    launch.say("files", "making the sources")
    result: dict[str, Any] = {
        "sources": {
            **sources.make(folder, options.sizes),
            "shape": options.sizes.shape,
            "chunks": options.sizes.chunks,
        },
        "cells": [],
        "conditions": {"versions": versions(), "hints": {name: CONTENDERS[name].hints for name in CONTENDERS}},
    }
    for name in options.cases:
        cells = _cells(name, options)
        result["cells"] += cells
        _measure(cells, options, folder)
        keep(result)
    return result


def versions() -> dict[str, str]:
    """Return the versions of the installed peers, and of their C libraries."""
    found = {name: importlib.metadata.version(name) for name in LIBRARIES if importlib.util.find_spec(name)}
    if "h5py" in found:
        import h5py

        found["HDF5 of h5py"] = h5py.version.hdf5_version
    if "netCDF4" in found:
        import netCDF4

        found |= {
            "HDF5 of netCDF4": netCDF4.__hdf5libversion__,
            "netCDF-C": netCDF4.__netcdf4libversion__,
        }
    nccopy = Nccopy().version()
    return found | ({NCCOPY: nccopy} if nccopy else {})


def _cells(name: str, options: Options) -> list[dict[str, Any]]:
    """Return the cells: a case with one state of the page cache; contenders that cannot take part are refused in it."""
    case = CASES[name]
    ranks = options.ranks if case.on_ranks else 1
    names = [SWATH, *(peer for peer in case.peers if peer in options.peers)]
    return [
        {
            "case": name,
            "cache": cache,
            "ranks": ranks,
            "contenders": {
                who: {"repetitions": [], "refused": not_installed(case.modules) or CONTENDERS[who].absent() or None}
                for who in names
            },
        }
        for cache in (options.caches if case.reads else ("",))
    ]


def _measure(cells: list[dict[str, Any]], options: Options, folder: str) -> None:
    for number, (cell, who) in _turns(cells, options.repetitions):
        entry = cell["contenders"][who]
        if entry["refused"] is not None:
            continue
        place = " ".join(filter(None, (cell["case"], cell["cache"])))
        launch.say("files", f"{place}, round {number + 1} of {options.repetitions}: {who}")
        repetitions, failed = _run(cell, who, options, folder)
        entry["repetitions"] += [{**repetition, "round": number} for repetition in repetitions]
        entry["refused"] = failed or None
        if failed and who == SWATH:
            raise BenchmarkFailedError(f"Swath, {place}: {failed}")


def _turns(cells: list[dict[str, Any]], rounds: int) -> Iterator[tuple[int, tuple[dict[str, Any], str]]]:
    """Yield all contenders with all states of the cache, round after round, in another order each time."""
    for number in range(rounds):
        turns = list(itertools.chain.from_iterable(((cell, who) for who in cell["contenders"]) for cell in cells))
        for turn in shuffled(turns, number):
            yield number, turn


def _run(cell: dict[str, Any], who: str, options: Options, folder: str) -> tuple[list[dict[str, Any]], str]:
    """Return the repetitions of one process, or of one on each rank, and the reason if there are none, or ""."""
    ranks = cell["ranks"]
    program = Program(
        Made(THIS_PYTHON, sys.prefix, {}),
        PROGRAM,
        "files",
        options.limit_seconds,
        mpi_ranks=ranks if ranks > 1 else None,
    )
    with tempfile.TemporaryDirectory(prefix="program-", dir=folder) as own:
        request = {
            "case": cell["case"],
            "contender": who,
            "cache": cell["cache"],
            "folder": folder,
            "target": os.path.join(own, "target"),
            "sizes": dataclasses.asdict(options.sizes),
            "ranks": ranks,
        }
        lines, failed = program.run(request, own)
    found: list[dict[str, Any]] = [r for line in lines for r in line.get("repetitions", ())]
    if not failed and not found:
        failed = "it measured nothing"
    return ([], failed) if failed else (found, "")
