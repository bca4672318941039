"""The NCIO paper: what its text says of figures 4 to 6, on Feynman with PVFS2."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from swath.simulation.benchmarks import ncio
from swath.simulation.simulate import simulate
from swath_bench.papers.cells import Cell, data

PAPER = "NCIO (2006)"
MACHINE = "feynman"
RANKS = 64
VARIED = {"counts": "count", "region_bytes": "region_bytes", "spacing_bytes": "spacing_bytes"}
PER_SPACED_REGION = {"direct": 1, "list": 1, "datatype": 1, "two-phase": 0}


def cells(options: Any) -> Iterator[Cell]:
    """Yield a cell for each method of each order, and both sides of each factor."""
    said = data("ncio-2006")
    for one in said["cells"]:
        varied, values = next((VARIED[key], one[key]) for key in VARIED if key in one)
        for value in values:
            for position, method in enumerate(one["order"], 1):
                sizes = {varied: value, "file_spaced": one.get("file_spaced", True)}
                yield _cell(options, one, f"{varied} {value:,}", (sizes, method), float(position), is_position=True)
    for one in said["factors"]:
        for method, factor in ((one["slower"], one["factor"]), (one["faster"], 1.0)):
            yield _cell(options, one, "factor", (one["cell"], method), factor)
    for one in said["ratios"]:
        for side, factor in ((one["slower"], one["factor"]), (one["faster"], 1.0)):
            yield _cell(options, one, f"factor of {one['method']}", (side, one["method"]), factor)


def _cell(
    options: Any,
    one: dict[str, Any],
    setting: str,
    what: tuple[dict[str, Any], str],
    theirs: float,
    *,
    is_position: bool = False,
) -> Cell:
    sizes, method = what
    count = sizes.get("count", 4096)
    words = method if is_position else f"{method}, {', '.join(f'{key} {value}' for key, value in sizes.items())}"
    regions = RANKS * count * PER_SPACED_REGION[method] if sizes.get("file_spaced", True) else 0
    return Cell(
        PAPER,
        one["figure"],
        f"{setting}: {one['said'].partition(':')[0]}",
        words,
        theirs,
        functools.partial(_seconds, sizes, method, options.seed, bool(one.get("per_byte"))),
        unit="s" if is_position or not one.get("per_byte") else "s/GB",
        requests=regions,
        is_position=is_position,
        said=one["said"],
    )


def _seconds(sizes: dict[str, Any], method: str, seed: int, per_byte: bool) -> float:
    operations = [one.by(method) for one in ncio(RANKS, **sizes)]
    found = simulate(operations, MACHINE, ranks=RANKS, seed=seed)
    return found.seconds / found.bytes * 1e9 if per_byte else found.seconds
