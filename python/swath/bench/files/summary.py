"""What follows from the measurements: Swath beside the fastest peer, and what was wanted."""

from __future__ import annotations

import statistics
from typing import Any

from swath.bench.files.cases import CASES, SWATH
from swath.bench.measure import summary

TWICE = 0.5


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Of every cell the median and range of each contender, and Swath's median ÷ that of the fastest peer.

    "missed" are the cells whose ratio is above what is wanted of their case; a contender that was refused in any round
    is not compared.
    """
    cells = [_cell(cell) for cell in result["cells"]]
    compared = [cell for cell in cells if cell["ratio"] is not None]
    refused: dict[tuple[str, str], list[str]] = {}
    for cell in result["cells"]:
        for who, entry in cell["contenders"].items():
            if entry["refused"] is not None:
                refused.setdefault((who, entry["refused"]), []).append(in_words(cell))
    return {
        "cells": cells,
        "compared": len(compared),
        "missed": [in_words(cell) for cell in compared if not cell["is_reached"]],
        "twice": sum(cell["ratio"] <= TWICE for cell in compared),
        "alone": [in_words(cell) for cell in cells if cell["ratio"] is None],
        "refused": [{"contender": who, "reason": why, "cells": where} for (who, why), where in refused.items()],
    }


def in_words(cell: dict[str, Any]) -> str:
    """Return what a cell is called."""
    return " ".join(filter(None, (cell["case"], cell["cache"])))


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    contenders = {
        who: {
            **summary([r["seconds"] for r in entry["repetitions"]]).to_dict(),
            "sync_seconds": statistics.median(r["sync_seconds"] for r in entry["repetitions"]),
        }
        for who, entry in cell["contenders"].items()
        if entry["repetitions"] and entry["refused"] is None
    }
    made: dict[str, Any] = {name: cell[name] for name in ("case", "cache", "ranks")}
    made |= {"contenders": contenders, "fastest_peer": None, "ratio": None, "is_reached": None}
    peers = [who for who in contenders if who != SWATH]
    if SWATH in contenders and peers:
        fastest = min(peers, key=lambda who: contenders[who]["median"])
        made["fastest_peer"] = fastest
        made["ratio"] = contenders[SWATH]["median"] / contenders[fastest]["median"]
        made["is_reached"] = made["ratio"] <= CASES[cell["case"]].wanted
    return made
