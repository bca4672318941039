"""Medians of the differences, from the measurements alone."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

Record = dict[str, Any]
IO_SECONDS_MIN = 0.01
"""Runs with less I/O are shown, and not counted: what a replay takes itself is of this size."""
NEAR = 1.05
"""An order of changes is as good as the best one if it takes at most this many times as long."""


def summarise(result: Mapping[str, Any]) -> Record:
    """Return for each disk the medians of how far replays are from runs and predictions from replays, and the orders.

    A predicted gain has the right sign if the replay gains, too. Advice that cannot be replayed does not count.
    """
    disks = dict.fromkeys(cell["disk"] for cell in result["cells"])
    return {"disks": [{"disk": disk, **_of_disk(_cells(result, disk))} for disk in disks]}


def _cells(result: Mapping[str, Any], disk: str) -> list[Record]:
    return [cell for cell in result["cells"] if cell["disk"] == disk and cell["run_seconds"] >= IO_SECONDS_MIN]


def _of_disk(cells: Sequence[Mapping[str, Any]]) -> Record:
    gains = [one for cell in cells for one in cell["advice"] if one["replayed"] is not None]
    errors = [abs(one["predicted"] / one["replayed"] - 1) for one in gains if one["replayed"] > 0]
    orders = [cell["order"] for cell in cells if cell["order"] is not None]
    return {
        "runs": len(cells),
        "replay_difference": _median([abs(difference(cell)) for cell in cells]),
        "advice": sum(len(cell["advice"]) for cell in cells),
        "replayed": len(gains),
        "prediction_error": _median(errors),
        "right_sign": sum(one["replayed"] > 0 for one in gains) / len(gains) if gains else None,
        "orders": len(orders),
        "best_orders": sum(one["advised"] <= NEAR * one["best"] for one in orders),
    }


def difference(cell: Mapping[str, Any]) -> float:
    """Return by which part of the run's I/O time the replay's differs."""
    return float(cell["replay_seconds"] / cell["run_seconds"] - 1) if cell["run_seconds"] else 0.0


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
