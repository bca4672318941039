"""The stream throttling paper: MADbench on modelled disks, with some writers and readers at a time (tables 6 to 10).

Tables 9 and 10 repeat rows of tables 6 and 7 beside Linux's anticipatory scheduler, which is not modelled. Table 5 is a
machine whose page cache holds all data: modelled disks have no page cache.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Iterator
from typing import Any

from swath_bench import madbench
from swath_bench.madbench.options import ALL
from swath_bench.madbench.options import Options as MadbenchOptions
from swath_bench.papers.cells import Cell, data

PAPER = "throttling (2007)"
RELATIVE = "relative"
"""The unit of a time that the paper gives relative to the best one; ours is in seconds."""
PIXELS_MAX = 3000
"""Larger maps are simulated with this one, and the times are scaled to the bytes of the paper's."""


def cells(options: Any) -> Iterator[Cell]:
    """Yield the cells of all tables."""
    for table, what in data("stream-throttling").items():
        for writers, readers, seconds in what["rows"]:
            base = MadbenchOptions(
                tasks=what["tasks"],
                pixels=min(PIXELS_MAX, what["pixels"]),
                disks=(what["disk"],),
                virtual=True,
                seed=options.seed,
            )
            word = {number: ALL if number == what["tasks"] else str(number) for number in (writers, readers)}
            chosen = dataclasses.replace(base, writers=(word[writers],), readers=(word[readers],))
            scale = (what["pixels"] / base.pixels) ** 2 if table.startswith("table") else 1.0
            yield Cell(
                PAPER,
                table,
                f"{what['tasks']} tasks, {what['disk']}",
                f"{writers} writers, {readers} readers",
                float(seconds),
                functools.partial(_seconds, chosen, scale),
                unit="s" if table.startswith("table") else RELATIVE,
            )


def _seconds(chosen: MadbenchOptions, scale: float) -> float:
    with tempfile.TemporaryDirectory(prefix="swath-bench-") as folder:
        result = madbench.measure(chosen, folder, lambda told: None)
    (run,) = result["runs"]
    return scale * float(run["total_seconds"])
