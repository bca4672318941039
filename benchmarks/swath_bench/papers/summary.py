"""What the cells say: for each table the rank correlation, the factors at the extremes, and the order of methods.

Everything here is a function of the JSON alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

CLOSE = 0.05
"""Numbers of a paper that differ by less than this part have no order."""


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return a summary of each table, and of all."""
    cells = [cell for cell in result["cells"] if cell["ours"] is not None]
    keys = list(dict.fromkeys((cell["paper"], cell["table"]) for cell in result["cells"]))
    tables = [_of_table(*key, [cell for cell in cells if (cell["paper"], cell["table"]) == key]) for key in keys]
    right = sum(table["right"] for table in tables)
    pairs = sum(table["pairs"] for table in tables)
    left_out = sum(cell["ours"] is None for cell in result["cells"])
    sentences = [
        f"{right} of {pairs} pairs of methods have the paper's order ({_percent(right, pairs)})",
        f"{left_out} of {len(result['cells'])} cells were left out: too many requests",
    ]
    return {"tables": tables, "right": right, "pairs": pairs, "sentences": sentences}


def _of_table(paper: str, table: str, cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    pairs = list(_pairs(cells))
    right = sum((one["ours"] < two["ours"]) == (one["theirs"] < two["theirs"]) for one, two in pairs)
    numbers = [cell for cell in cells if not cell["is_position"]]
    correlation = spearman([cell["theirs"] for cell in numbers], [cell["ours"] for cell in numbers])
    theirs, ours = (_factor([cell[key] for cell in numbers]) for key in ("theirs", "ours"))
    parts = [f"order of methods right in {right} of {len(pairs)} pairs ({_percent(right, len(pairs))})"]
    if correlation is not None:
        parts.append(f"rank correlation {correlation:.2f}")
    if theirs is not None and ours is not None:
        parts.append(f"slowest / fastest {theirs:.3g} in the paper, {ours:.3g} here")
    return {
        "paper": paper,
        "table": table,
        "pairs": len(pairs),
        "right": right,
        "rank_correlation": correlation,
        "factor_theirs": theirs,
        "factor_ours": ours,
        "sentence": "; ".join(parts),
    }


def _pairs(cells: Sequence[dict[str, Any]]) -> Any:
    """Yield pairs of cells with a common group, whose numbers in the paper differ."""
    for one, two in itertools.combinations(cells, 2):
        is_different = abs(one["theirs"] - two["theirs"]) > CLOSE * max(one["theirs"], two["theirs"])
        if is_different and set(_groups(one)) & set(_groups(two)):
            yield one, two


def _groups(cell: dict[str, Any]) -> Sequence[str]:
    return cell.get("groups") or (cell["setting"],)


def _factor(numbers: Sequence[float]) -> float | None:
    return max(numbers) / min(numbers) if len(numbers) > 1 and min(numbers) > 0 else None


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "no pairs"


def spearman(one: Sequence[float], two: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None for fewer than three numbers, or if all are equal.

    >>> spearman([1, 2, 3], [10, 20, 300]), spearman([1, 2, 3], [3, 2, 1])
    (1.0, -1.0)
    """
    if len(one) < 3:
        return None
    ranks = [_ranks(one), _ranks(two)]
    means = [sum(of) / len(of) for of in ranks]
    spreads = [math.sqrt(sum((rank - mean) ** 2 for rank in of)) for of, mean in zip(ranks, means, strict=True)]
    if not all(spreads):
        return None
    together = sum((a - means[0]) * (b - means[1]) for a, b in zip(*ranks, strict=True))
    return float(together / (spreads[0] * spreads[1]))


def _ranks(numbers: Sequence[float]) -> list[float]:
    """Return the place of each number; equal numbers share the mean of their places."""
    order = sorted(range(len(numbers)), key=lambda index: numbers[index])
    places = [0.0] * len(numbers)
    for _, of in itertools.groupby(enumerate(order), key=lambda pair: numbers[pair[1]]):
        same = list(of)
        place = sum(position for position, _ in same) / len(same) + 1
        for _, index in same:
            places[index] = place
    return places
