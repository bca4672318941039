"""Medians, and the ratio of every contender to Swath."""

from __future__ import annotations

from typing import Any

from swath_bench import comparison
from swath_bench.measure import summary
from swath_bench.simulation.cases import CYCLIC_READ, DUMP, GATHERED

GATHERING_WANTED = 5.0
"""The goal for the case gathered: gathering takes this many times as long as Swath."""
SLACK = 1.0
"""The goal for the other cases: the fastest peer's time divided by Swath's, at least."""


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return the medians of each cell, and the result for each goal."""
    cells = [_cell(cell) for cell in result["cells"]]
    return {
        "cells": cells,
        "refused": comparison.refused(result["cells"], lambda cell: f"{cell['case']}, {cell['mpi']}"),
    }


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    contenders = {
        who: summary([one["seconds"] for one in entry["repetitions"]]).to_dict()
        for who, entry in comparison.measured(cell).items()
    }
    return {
        "case": cell["case"],
        "mpi": cell["mpi"],
        "contenders": contenders,
        "goals": _goals(cell["case"], contenders),
    }


def _goals(case: str, contenders: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Return the goals. "who" is compared with "whom": `ratio` is whom's time divided by who's, at least `wanted`."""
    ours = [who for who in contenders if who.startswith("Swath")]
    peers = {who: one["median"] for who, one in contenders.items() if who not in ours}
    pairs: list[tuple[str, str, float | None]] = []
    if case == GATHERED:
        pairs = [("Swath", whom, GATHERING_WANTED if "gathered" in whom else None) for whom in peers]
    elif case == DUMP and peers:
        pairs = [(who, min(peers, key=lambda name: peers[name]), SLACK) for who in ours]
    elif case == CYCLIC_READ:
        pairs = [("Swath from C", "Swath from Python", SLACK)]
    goals = []
    for who, whom, wanted in pairs:
        ratio = contenders[whom]["median"] / contenders[who]["median"]
        goals.append(
            {"who": who, "whom": whom, "ratio": ratio, "wanted": wanted, "reached": wanted is None or ratio >= wanted}
        )
    return goals
