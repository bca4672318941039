"""Conclusions from the measurements: Swath compared with the fastest peer, and the noise."""

from __future__ import annotations

import statistics
from typing import Any

from swath_bench import comparison
from swath_bench.measure import summary
from swath_bench.zarr.contenders import SWATH

WARM_PART = 0.01
"""Largest cached part of the store for a read to count as cold."""


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return for every cell median and range of each contender, and Swath's median ÷ that of the fastest peer.

    "noise" is the range of the fastest peer's repetitions, (high - low) / median, without the highest and lowest
    if there are three. Swath is slower beyond noise if its ratio is above 1 + noise. A contender that
    was refused in any round is not compared; "refused" has contender, cell, reason. "processor_ratio" is the ratio of
    the processor time of all threads to that of the peer with the least: it says more if other programs run.
    """
    cells = [_cell(cell) for cell in result["cells"]]
    compared = [cell for cell in cells if cell["ratio"] is not None]
    return {
        "cells": cells,
        "compared": len(compared),
        "slower": sum(cell["ratio"] > 1 for cell in compared),
        "slower_beyond_noise": sum(cell["beyond_noise"] for cell in compared),
        "refused": comparison.refused(result["cells"], _name),
        "not_cold": _not_cold(result),
    }


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    contenders = {
        name: {
            **summary([r["seconds"] for r in entry["repetitions"]]).to_dict(),
            "processor_seconds": statistics.median(r["processor_seconds"] for r in entry["repetitions"]),
            "family": entry["family"],
        }
        for name, entry in comparison.measured(cell).items()
    }
    made = {name: cell[name] for name in ("store", "pattern", "cache", "bytes")}
    made |= {"contenders": contenders, "fastest_peer": None, "ratio": None, "noise": None, "beyond_noise": False}
    made["processor_ratio"] = None
    fastest = comparison.fastest_peer(contenders, SWATH)
    if fastest is not None:
        of = contenders[fastest]
        made["fastest_peer"] = fastest
        made["ratio"] = contenders[SWATH]["median"] / of["median"]
        made["noise"] = (of["high"] - of["low"]) / of["median"]
        least = min(entry["processor_seconds"] for name, entry in contenders.items() if name != SWATH)
        made["processor_ratio"] = contenders[SWATH]["processor_seconds"] / least
        made["beyond_noise"] = made["ratio"] > 1 + made["noise"]
    return made


def _name(cell: dict[str, Any]) -> str:
    return f"{cell['store']} {cell['pattern']} {cell['cache']}"


def _not_cold(result: dict[str, Any]) -> int:
    """Return the number of cold reads of a store that was partly cached."""
    stored = {store["kind"]: store["stored_bytes"] for store in result["stores"]}
    return sum(
        (repetition["cached_bytes_before"] or 0) > WARM_PART * stored[cell["store"]]
        for cell in result["cells"]
        if cell["cache"] == "cold"
        for entry in cell["contenders"].values()
        for repetition in entry["repetitions"]
    )
