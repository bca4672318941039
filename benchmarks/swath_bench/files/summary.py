"""Conclusions from the measurements: Swath compared with the fastest peer, and with the goals."""

from __future__ import annotations

import statistics
from typing import Any

from swath_bench import comparison
from swath_bench.files.cases import CASES, SWATH
from swath_bench.measure import summary

TWICE = 0.5


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return for every cell median and range of each contender, and Swath's median ÷ that of the fastest peer.

    "missed" are the cells whose ratio is above the goal of their case; a contender that was refused in any round
    is not compared.
    """
    cells = [_cell(cell) for cell in result["cells"]]
    compared = [cell for cell in cells if cell["ratio"] is not None]
    return {
        "cells": cells,
        "compared": len(compared),
        "missed": [in_words(cell) for cell in compared if not cell["is_reached"]],
        "twice": sum(cell["ratio"] <= TWICE for cell in compared),
        "alone": [in_words(cell) for cell in cells if cell["ratio"] is None],
        "refused": comparison.refused(result["cells"], in_words),
    }


def in_words(cell: dict[str, Any]) -> str:
    """Return the name of a cell."""
    return " ".join(filter(None, (cell["case"], cell["cache"])))


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    contenders = {
        who: {
            **summary([r["seconds"] for r in entry["repetitions"]]).to_dict(),
            "sync_seconds": statistics.median(r["sync_seconds"] for r in entry["repetitions"]),
            "peak_bytes": max(r.get("peak_bytes", 0) for r in entry["repetitions"]),
        }
        for who, entry in comparison.measured(cell).items()
    }
    made: dict[str, Any] = {name: cell[name] for name in ("case", "cache", "ranks")}
    made |= {"contenders": contenders, "fastest_peer": None, "ratio": None, "is_reached": None}
    fastest = comparison.fastest_peer(contenders, SWATH)
    if fastest is not None:
        made["fastest_peer"] = fastest
        made["ratio"] = contenders[SWATH]["median"] / contenders[fastest]["median"]
        made["is_reached"] = made["ratio"] <= CASES[cell["case"]].wanted
    return made
