"""Ratios of with to without the drop-in, and to one contiguous transfer of the same bytes."""

from __future__ import annotations

import statistics
from typing import Any

from swath_bench.measure import counted, summary
from swath_bench.mpi_io.cells import CASES, NONCONTIGUOUS
from swath_bench.mpi_io.running import CONTENDERS, WITH, WITHOUT

RATIO_WANTED = 5.0
FLOOR_SHARE_WANTED = 0.7
CALL_RATIO_ALLOWED = 1.1
CALL_RATIO_ALLOWED_BUSY = 1.5
CALL_SECONDS_ALLOWED = 0.5e-6


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return for each cell the medians of both, their ratio, and whether its goal is reached."""
    busy = bool(result["options"].get("busy"))
    return {"cells": [summarise_cell(cell, busy) for cell in result["cells"]]}


def summarise_cell(cell: dict[str, Any], busy: bool = False) -> dict[str, Any]:
    """Return for one cell each contender's seconds, MB/s, memory of all ranks; also the floor, and ratios.

    Seconds include making the types, setting the view and moving; they are None for a refused contender.
    """
    repetitions = [repetition for run in cell["runs"] for repetition in run["repetitions"]]
    told: dict[str, Any] = {name: cell[name] for name in ("case", "access", "direction", "ranks")}
    told["refused"] = cell["refused"]
    for contender in CONTENDERS:
        own = [r for run in cell["runs"] if run["contender"] == contender for r in run["repetitions"]]
        told[contender] = _of_contender(own) if contender not in cell["refused"] and own else None
    floors = counted(repetitions)
    told["bytes"] = floors[0]["bytes"] if floors else None
    told["floor_seconds"] = statistics.median(r["floor_seconds"] for r in floors) if floors else None
    told["ratio"] = told["first_ratio"] = None
    if told[WITH] and told[WITHOUT]:
        told["ratio"] = told[WITHOUT]["seconds"]["median"] / told[WITH]["seconds"]["median"]
        told["first_ratio"] = told[WITHOUT]["first_seconds"] / told[WITH]["first_seconds"]
    told["floor_share"] = told["floor_seconds"] / told[WITH]["seconds"]["median"] if told[WITH] else None
    told["call_ratio"] = None
    if told[WITH] and told[WITHOUT]:
        told["call_ratio"] = told[WITH]["call_seconds"] / told[WITHOUT]["call_seconds"]
    told["reached"] = _is_reached(told, busy)
    return told


def _of_contender(repetitions: list[dict[str, Any]]) -> dict[str, Any]:
    later = counted(repetitions)
    first = [r for r in repetitions if r["repetition"] == 0]
    seconds = summary([r["view_seconds"] + r["move_seconds"] for r in later])
    return {
        "seconds": seconds.to_dict(),
        "first_seconds": statistics.median(r["view_seconds"] + r["move_seconds"] for r in first),
        "view_seconds": statistics.median(r["view_seconds"] for r in later),
        "call_seconds": statistics.median(r["move_seconds"] / r["calls"] for r in later),
        "processor_seconds": statistics.median(r["processor_seconds"] for r in later),
        "view_memory_bytes": statistics.median(r["view_memory_bytes"] for r in first),
        "memory_bytes": statistics.median(r["memory_bytes"] for r in first),
        "bytes_per_second": later[0]["bytes"] / seconds.median,
    }


def _is_reached(told: dict[str, Any], busy: bool) -> bool | None:
    """Noncontiguous: 5 x without, or 0.7 x the floor; contiguous: a call takes 1.1 x as long or 0.5 µs more.

    If the cores are busy, a contiguous call may take 1.5 x as long.
    """
    if told[WITH] is None:
        return None
    if CASES[told["case"]].kind == NONCONTIGUOUS:
        beats = told["ratio"] is None or told["ratio"] >= RATIO_WANTED
        return bool(beats or told["floor_share"] >= FLOOR_SHARE_WANTED)
    if told[WITHOUT] is None:
        return True
    more = told[WITH]["call_seconds"] - told[WITHOUT]["call_seconds"]
    allowed = CALL_RATIO_ALLOWED_BUSY if busy else CALL_RATIO_ALLOWED
    return bool(told["call_ratio"] <= allowed or more <= CALL_SECONDS_ALLOWED)
