"""Zarr: one store, read by Swath, zarr-python, zarrs and TensorStore: all, chunks, one row, one column, strided.

Every contender is a program in a process of its own, the peers' under the Pythons of their own environments. Of each
store all programs are run one after the other, in another order each time, and that round is repeated, so that a
machine that gets slower gets slower for all. `options` says what is measured, `stores` makes the array, the stores and
the selections, `known` has the contenders, `programs` starts them, `summary` sets Swath beside the fastest peer,
`tables` prints.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from swath.bench import environments
from swath.bench.environments import EnvironmentFailedError, Made
from swath.bench.launch import BenchmarkFailedError
from swath.bench.measure import shuffled
from swath.bench.zarr import programs, stores
from swath.bench.zarr.known import ENVIRONMENTS, SWATH, Contender, contenders_of
from swath.bench.zarr.options import Options, needs, peer_names, quick_options
from swath.bench.zarr.summary import summarise
from swath.bench.zarr.tables import show

__all__ = ["Options", "measure", "needs", "peer_names", "quick_options", "show", "summarise"]


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Store after store; `keep` is given what there is after each of them, also when it fails or is interrupted.

    Raises BenchmarkFailedError where Swath fails, or reads wrong data: a peer that does is refused.
    """
    contenders = contenders_of(options.peers, len(os.sched_getaffinity(0)))
    result: dict[str, Any] = {
        "stores": [],
        "cells": [],
        "conditions": {"versions": {}, "settings": {c.name: c.in_words for c in contenders}},
    }
    folder = os.path.abspath(folder)  # the programs work in folders of their own
    made, failures = _environments(contenders)
    for found in made.values():
        result["conditions"]["versions"].update(found.versions)
    _say("making the array")
    array = stores.make_array(options, os.path.join(folder, "array.npy"))
    for kind in options.stores:
        _say(f"making the store {kind}")
        store = stores.make_store(kind, options, array, os.path.join(folder, f"{kind}.zarr"))
        cells = [{**cell, "contenders": {c.name: _entry(c) for c in contenders}} for cell in store.cells]
        result["stores"].append(store.to_dict())
        result["cells"] += cells
        try:
            _measure_store(store, cells, made, failures, contenders, options)
        finally:
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(store.path)
            keep(result)
    return result


def _environments(contenders: list[Contender]) -> tuple[dict[str, Made], dict[str, str]]:
    """Those that are there, and of the others why not."""
    made: dict[str, Made] = {}
    failures: dict[str, str] = {}
    for name in dict.fromkeys(c.environment for c in contenders if c.name != SWATH):
        with _failure_kept(name, failures):
            made[name] = environments.make(ENVIRONMENTS[name])
    return made, failures


@contextlib.contextmanager
def _failure_kept(name: str, failures: dict[str, str]) -> Iterator[None]:
    try:
        yield
    except EnvironmentFailedError as failure:
        _say(str(failure))
        failures[name] = str(failure)


def _measure_store(
    store: stores.Store,
    cells: list[dict[str, Any]],
    made: dict[str, Made],
    failures: dict[str, str],
    contenders: list[Contender],
    options: Options,
) -> None:
    for number in range(options.rounds):
        for contender in shuffled(contenders, number):
            if contender.environment in failures:
                _refuse(cells, contender, failures[contender.environment])
                continue
            _say(f"{store.kind}, round {number + 1} of {options.rounds}: {contender.name}")
            environment = made.get(contender.environment)
            with tempfile.TemporaryDirectory(prefix="program-", dir=os.path.dirname(store.path)) as own:
                lines, failed = programs.run(contender, environment, store, options.repetitions, own)
            _add(cells, contender, number, lines, failed)


def _entry(contender: Contender) -> dict[str, Any]:
    return {"family": contender.environment, "repetitions": [], "refused": None}


def _refuse(cells: list[dict[str, Any]], contender: Contender, reason: str) -> None:
    for cell in cells:
        cell["contenders"][contender.name]["refused"] = reason


def _add(
    cells: list[dict[str, Any]], contender: Contender, number: int, lines: dict[int, dict[str, Any]], failed: str
) -> None:
    """What a program said, in one round; who was refused once, is."""
    if failed:
        _say(failed)
    for index, cell in enumerate(cells):
        line = lines.get(index, {"repetitions": [], "refused": failed or "it was not measured"})
        entry = cell["contenders"][contender.name]
        entry["repetitions"] += [{**repetition, "round": number} for repetition in line["repetitions"]]
        entry["refused"] = entry["refused"] or line["refused"]
        if entry["refused"] and contender.name == SWATH:
            raise BenchmarkFailedError(
                f"Swath, {cell['store']}, {cell['pattern']}, {cell['cache']}: {entry['refused']}"
            )


def _say(text: str) -> None:
    print(f"zarr: {text}", file=sys.stderr, flush=True)
