"""Comparisons from the measured runs: as found with optimised, and optimised with the fastest peer."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from swath_bench.applications.options import CASES, OPTIMISATIONS

Record = dict[str, Any]

SIGNIFICANT = 0.8
"""Table 8 marks an optimisation if the I/O takes at most this part of the time before, on the most ranks."""


def summarise(result: Mapping[str, Any]) -> Record:
    """Return each cell's medians and ratios, the marks of table 8, and sentences."""
    cells = [_cell(cell) for cell in result["cells"] if all(cell["runs"].values())]
    return {"cells": cells, "marks": _marks(cells), "sentences": [_sentence(cell) for cell in cells]}


def _cell(cell: Mapping[str, Any]) -> Record:
    case = CASES[cell["case"]]
    variants = {variant: _medians(runs) for variant, runs in cell["runs"].items()}
    before, after = variants[case.before], variants[case.after]
    others = [variant for variant in variants if variant not in (case.after, *case.apart)]
    fastest = min(others, key=lambda variant: float(variants[variant]["io_seconds"]))
    return {
        "case": cell["case"],
        "ranks": cell["ranks"],
        "disk": cell["disk"],
        "variants": variants,
        "total_saved_percent": 100 * (1 - after["total_seconds"] / before["total_seconds"]),
        "io_saved_percent": 100 * (1 - after["io_seconds"] / before["io_seconds"]),
        "before_to_after": before["total_seconds"] / after["total_seconds"],
        "fastest_other": fastest,
        "other_to_after": variants[fastest]["io_seconds"] / after["io_seconds"],
    }


def _medians(runs: Sequence[Mapping[str, Any]]) -> Record:
    io = statistics.median(run["io_seconds"] for run in runs)
    return {
        "bytes": runs[0]["bytes"],
        "io_seconds": io,
        "io_seconds_range": [pick(run["io_seconds"] for run in runs) for pick in (min, max)],
        "total_seconds": statistics.median(run["total_seconds"] for run in runs),
        "bytes_per_second": runs[0]["bytes"] / io,
    }


def _marks(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, bool]]:
    """Table 8: for each program whether its optimisations made a significant difference, on the most ranks."""
    found = {}
    for name in dict.fromkeys(cell["case"] for cell in cells):
        last = max((cell for cell in cells if cell["case"] == name), key=lambda cell: int(cell["ranks"]))
        helped = last["io_saved_percent"] >= 100 * (1 - SIGNIFICANT)
        found[name] = {each: helped and each in CASES[name].optimisations for each in OPTIMISATIONS}
    return found


def _sentence(cell: Mapping[str, Any]) -> str:
    case = CASES[cell["case"]]
    where = "" if cell["disk"] is None else f", modelled disk {cell['disk']}"
    saved = cell["total_saved_percent"]
    change = f"{saved:.0f} % less time" if saved >= 0 else f"{-saved:.0f} % more time"
    return (
        f"{case.title}, {cell['ranks']} ranks{where}: {change} in all than as found; input and output "
        f"{cell['other_to_after']:.2f} x as fast as the fastest other variant, {cell['fastest_other']}."
    )
