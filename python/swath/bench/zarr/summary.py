"""What follows from the measurements: Swath beside the fastest peer, and what is noise."""

from __future__ import annotations

import statistics
from typing import Any

from swath.bench.measure import summary
from swath.bench.zarr.contenders import SWATH

WARM_PART = 0.01
"""A cold read that met more of the store in the page cache was none."""


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Of every cell the median and range of each contender, and Swath's median ÷ that of the fastest peer.

    "noise" is how far the fastest peer's own repetitions scatter, high - low of its median (the highest and lowest
    dropped, where there are three); Swath is slower beyond noise where its ratio is above 1 + noise. A contender that
    was refused in any round is not compared; "refused" says who, where and why. "processor_ratio" is the same of the
    time that all threads computed, against the peer that computed least: where other programs run, it says more.
    """
    cells = [_cell(cell) for cell in result["cells"]]
    compared = [cell for cell in cells if cell["ratio"] is not None]
    return {
        "cells": cells,
        "compared": len(compared),
        "slower": sum(cell["ratio"] > 1 for cell in compared),
        "slower_beyond_noise": sum(cell["beyond_noise"] for cell in compared),
        "refused": _refused(result["cells"]),
        "not_cold": _not_cold(result),
    }


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    contenders = {
        name: {
            **summary([r["seconds"] for r in entry["repetitions"]]).to_dict(),
            "processor_seconds": statistics.median(r["processor_seconds"] for r in entry["repetitions"]),
            "family": entry["family"],
        }
        for name, entry in cell["contenders"].items()
        if entry["repetitions"] and entry["refused"] is None
    }
    made = {name: cell[name] for name in ("store", "pattern", "cache", "bytes")}
    made |= {"contenders": contenders, "fastest_peer": None, "ratio": None, "noise": None, "beyond_noise": False}
    made["processor_ratio"] = None
    peers = [name for name in contenders if name != SWATH]
    if SWATH in contenders and peers:
        fastest = min(peers, key=lambda name: contenders[name]["median"])
        of = contenders[fastest]
        made["fastest_peer"] = fastest
        made["ratio"] = contenders[SWATH]["median"] / of["median"]
        made["noise"] = (of["high"] - of["low"]) / of["median"]
        least = min(contenders[name]["processor_seconds"] for name in peers)
        made["processor_ratio"] = contenders[SWATH]["processor_seconds"] / least
        made["beyond_noise"] = made["ratio"] > 1 + made["noise"]
    return made


def _refused(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each contender and reason, with the cells that it was refused in."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        for name, entry in cell["contenders"].items():
            if entry["refused"] is not None:
                where = f"{cell['store']} {cell['pattern']} {cell['cache']}"
                found.setdefault((name, entry["refused"]), []).append(where)
    return [{"contender": name, "reason": reason, "cells": where} for (name, reason), where in found.items()]


def _not_cold(result: dict[str, Any]) -> int:
    """Return how many cold reads met a store that was partly in the page cache."""
    stored = {store["kind"]: store["stored_bytes"] for store in result["stores"]}
    return sum(
        (repetition["cached_bytes_before"] or 0) > WARM_PART * stored[cell["store"]]
        for cell in result["cells"]
        if cell["cache"] == "cold"
        for entry in cell["contenders"].values()
        for repetition in entry["repetitions"]
    )
