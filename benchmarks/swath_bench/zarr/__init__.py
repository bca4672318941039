"""Zarr: one store, read by Swath, zarr-python, zarrs and TensorStore: all, chunks, one row, one column, strided.

Every contender is a program in a separate process, the peers' under the Pythons of their environments. For each
store all programs run one after the other, in another order each time. This round is repeated, so a
machine that gets slower gets slower for all. `options` has the options, `stores` makes the array, the stores and
the selections, `contenders` starts the programs, `summary` compares Swath with the fastest peer,
`tables` prints.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from swath_bench import launch
from swath_bench.launch import BenchmarkFailedError
from swath_bench.measure import shuffled
from swath_bench.peers.environments import Environments
from swath_bench.zarr import contenders as programs
from swath_bench.zarr import stores
from swath_bench.zarr.contenders import SWATH, Contender, contenders_of
from swath_bench.zarr.options import Options, needs, peer_names, quick_options
from swath_bench.zarr.summary import summarise
from swath_bench.zarr.tables import show

__all__ = ["Options", "measure", "needs", "peer_names", "quick_options", "show", "summarise"]


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure store after store; `keep` gets the results after each of them, also after a failure or an interrupt.

    Raises BenchmarkFailedError if Swath fails, or reads wrong data; a peer that does so is refused.
    """
    contenders = contenders_of(options.peers, len(os.sched_getaffinity(0)))
    result: dict[str, Any] = {
        "stores": [],
        "cells": [],
        "conditions": {"versions": {}, "settings": {c.name: c.in_words for c in contenders}},
    }
    folder = os.path.abspath(folder)  # the programs work in folders of their own
    environments = Environments()
    for name in dict.fromkeys(c.environment for c in contenders):
        made = environments.get(name)
        if isinstance(made, str):
            launch.say("zarr", made)
        else:
            result["conditions"]["versions"].update(made.library_versions)
    launch.say("zarr", "making the array")
    array = stores.make_array(options, os.path.join(folder, "array.npy"))
    for kind in options.stores:
        launch.say("zarr", f"making the store {kind}")
        store = stores.make_store(kind, options, array, os.path.join(folder, f"{kind}.zarr"))
        cells = [{**cell, "contenders": {c.name: _entry(c) for c in contenders}} for cell in store.cells]
        result["stores"].append(store.to_dict())
        result["cells"] += cells
        try:
            _measure_store(store, cells, environments, contenders, options)
        finally:
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(store.path)
            keep(result)
    return result


def _measure_store(
    store: stores.Store,
    cells: list[dict[str, Any]],
    environments: Environments,
    contenders: list[Contender],
    options: Options,
) -> None:
    for number in range(options.rounds):
        for contender in shuffled(contenders, number):
            made = environments.get(contender.environment)
            if isinstance(made, str):
                _refuse(cells, contender, made)
                continue
            launch.say("zarr", f"{store.kind}, round {number + 1} of {options.rounds}: {contender.name}")
            with tempfile.TemporaryDirectory(prefix="program-", dir=os.path.dirname(store.path)) as own:
                lines, failed = programs.run(contender, made, store, options.repetitions, own)
            _add(cells, contender, number, lines, failed)


def _entry(contender: Contender) -> dict[str, Any]:
    return {"family": contender.environment, "repetitions": [], "refused": None}


def _refuse(cells: list[dict[str, Any]], contender: Contender, reason: str) -> None:
    for cell in cells:
        cell["contenders"][contender.name]["refused"] = reason


def _add(
    cells: list[dict[str, Any]], contender: Contender, number: int, lines: dict[int, dict[str, Any]], failed: str
) -> None:
    """Add the answer of a program in one round; a contender that was refused once stays refused."""
    if failed:
        launch.say("zarr", failed)
    for index, cell in enumerate(cells):
        line = lines.get(index, {"repetitions": [], "refused": failed or "it was not measured"})
        entry = cell["contenders"][contender.name]
        entry["repetitions"] += [{**repetition, "round": number} for repetition in line["repetitions"]]
        entry["refused"] = entry["refused"] or line["refused"]
        if entry["refused"] and contender.name == SWATH:
            raise BenchmarkFailedError(
                f"Swath, {cell['store']}, {cell['pattern']}, {cell['cache']}: {entry['refused']}"
            )
