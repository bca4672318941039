"""Swath compared with its peers, cell by cell: shared by benchmarks whose cells name their contenders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

REASON_MAX = 200

Cell = dict[str, Any]
"""Its "contenders" map a name to "repetitions" and "refused", which is the reason or None."""


def measured(cell: Cell) -> dict[str, dict[str, Any]]:
    """Return the contenders that are compared: those that were refused in no round."""
    contenders: dict[str, dict[str, Any]] = cell["contenders"]
    return {who: entry for who, entry in contenders.items() if entry["repetitions"] and entry["refused"] is None}


def fastest_peer(contenders: Mapping[str, dict[str, Any]], ours: str) -> str | None:
    """Return the peer with the smallest "median"; None if `ours` was not measured, or there are no peers."""
    peers = [who for who in contenders if who != ours]
    return min(peers, key=lambda who: float(contenders[who]["median"])) if ours in contenders and peers else None


def refused(cells: Iterable[Cell], name_of: Callable[[Cell], str]) -> list[dict[str, Any]]:
    """Return one entry for each contender and reason, with the names of the cells that it was refused in."""
    found: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        for who, entry in cell["contenders"].items():
            if entry["refused"] is not None:
                found.setdefault((who, entry["refused"]), []).append(name_of(cell))
    return [{"contender": who, "reason": why, "cells": where} for (who, why), where in found.items()]


def refusals(entries: Iterable[dict[str, Any]], verb: str) -> list[str]:
    """Return a line for each entry of `refused`: contender, cells and reason, cut to the length of a line."""
    return [
        f"{one['contender']} {verb} in {_listed_cells(one['cells'])}: {one['reason'][:REASON_MAX]}" for one in entries
    ]


def _listed_cells(cells: Sequence[str]) -> str:
    return ", ".join(cells) if len(cells) <= 2 else f"{cells[0]} and {len(cells) - 1} other cells"
