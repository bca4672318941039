"""NCIO: noncontiguous access by every method, over region count, region size and region spacing.

Source: Ching, Choudhary, Liao, Ward, Pundit, *Evaluating I/O Characteristics and Methods for Storing Structured
Scientific Data* (2006), sections 4 and 5; its protocol is the default: sync after every write, six repetitions without
the highest and the lowest, a pause of one second before each. Additions to the paper are reads, a cold page cache, and
a comparison of every byte. `pattern` has the accesses, `options` the sweeps, `running` the measurement, `summary`
the conclusions, `tables` prints, `report` draws the paper's figures, `peers` has the contenders in other
environments. `syncs` measures the paper's remedy: one sync for many writes. With a store, `pool_file`,
all of that is measured on files in a Ceph pool.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any

from swath.base import stored_path
from swath_bench import launch
from swath_bench.ncio.options import MPI_PEER, Options, for_store, needs, quick_options
from swath_bench.ncio.running import cells_path, run
from swath_bench.ncio.summary import summarise
from swath_bench.ncio.tables import show

__all__ = ["Options", "for_store", "measure", "needs", "quick_options", "run", "show", "summarise"]


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure one rank count after the other: the cells, and their further results.

    `keep` gets the results so far after each of them, also after a failure or an interrupt.
    """
    result: dict[str, Any] = {"cells": [], "syncs": [], "conditions": {"hints": {}, "versions": {}}}
    path = os.path.join(folder, "ncio.bin")
    if options.store:  # the folder's file system is not that of the files
        result["conditions"]["file_system"] = options.file_name(path)
    for ranks in options.ranks:
        told: dict[str, Any] = {}
        try:
            own = dataclasses.asdict(dataclasses.replace(options, ranks=(ranks,)))
            told = launch.run_on_ranks("ncio", ranks, own, folder)
        finally:
            if options.store and not told:  # in a folder everything is removed in any case
                stored_path.of(options.file_name(path)).remove()
            cells = _kept_cells(path)
            if told:
                _add_conditions(result, told, ranks)
                _add_other_environments(result, cells, options, ranks, folder)
            result["cells"] += cells
            result["syncs"] += told.get("syncs", [])
            keep(result)
    return result


def _kept_cells(path: str) -> list[dict[str, Any]]:
    with contextlib.suppress(FileNotFoundError), open(cells_path(path), encoding="utf-8") as kept:
        cells = [json.loads(line) for line in kept if line.endswith("\n")]
        os.unlink(cells_path(path))
        return cells
    return []


def _add_conditions(result: dict[str, Any], told: dict[str, Any], ranks: int) -> None:
    conditions = result["conditions"]
    for name, hints in told.get("hints", {}).items():
        conditions["hints"][f"{name} ({ranks} ranks)"] = hints
    conditions["versions"].update(told.get("versions", {}))
    conditions.update(told.get("conditions", {}))


def _add_other_environments(
    result: dict[str, Any], cells: list[dict[str, Any]], options: Options, ranks: int, folder: str
) -> None:
    names = [name for name in options.peers if name != MPI_PEER]
    if not names:
        return
    from swath_bench.ncio import peers

    told = peers.measure(names, ranks, cells, dataclasses.asdict(options), folder)
    for cell, contenders in zip(cells, told["contenders"], strict=True):
        cell["contenders"].update(contenders)
    _add_conditions(result, told, ranks)


def peer_names() -> tuple[str, ...]:
    """Return the peers that `--peers` without names selects: the MPI installed here, and every other environment."""
    from swath_bench.ncio import peers

    return (MPI_PEER, *peers.NAMES)
