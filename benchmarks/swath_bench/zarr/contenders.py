"""The contenders: in which environment each runs, what it is told, and what its program says."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from swath_bench.peers.environments import Made
from swath_bench.peers.running import Program, by_cell
from swath_bench.zarr.stores import Store

SWATH = "swath"
SILENT_SECONDS = 600.0
"""How long a program may go without a sign of life, which it gives before every read."""

ZARRS_PIPELINE = {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}
"""Strict: what zarrs cannot do is refused, and not done by zarr-python in its name, which is measured itself."""


@dataclasses.dataclass(frozen=True)
class Contender:
    """One way of reading, carried out by a program of `swath_bench.peers.programs`.

    Attributes:
        name: for people.
        environment: under whose Python; "swath" is the one that runs this.
        program: its module.
        settings: what it is told: of zarr-python and zarrs {"config": of the library}, of TensorStore {"context": of
            the library, "batch": whether requests are told to it as one}; "threads" hand several requests to
            the library at the same time, where it does not take them as one.
    """

    name: str
    environment: str
    program: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def in_words(self) -> str:
        """The settings, for the record."""
        return json.dumps(self.settings) if self.settings else "defaults"


def contenders_of(peers: Sequence[str], cores: int) -> list[Contender]:
    """Swath, and what is measured of these environments on a machine of so many cores."""
    return [Contender(SWATH, SWATH, "swath")] + [c for c in _peers(cores) if c.environment in peers]


def _peers(cores: int) -> list[Contender]:
    """Each with its defaults, and with what should suit it best: decoding on every core, more reads than that."""
    zarr = {"async.concurrency": 64, "threading.max_workers": cores}
    zarrs = {**ZARRS_PIPELINE, "threading.max_workers": cores, "codec_pipeline.chunk_concurrent_maximum": 4 * cores}
    limits = {"file_io_concurrency": {"limit": 32}, "data_copy_concurrency": {"limit": 2 * cores}}
    mapped = {**limits, "file_io_mode": {"mode": "memmap"}}
    return [
        Contender("zarr-python, defaults", "zarr", "zarr"),
        Contender("zarr-python, tuned", "zarr", "zarr", {"config": zarr, "threads": 2 * cores}),
        Contender("zarrs, defaults", "zarrs", "zarr", {"config": ZARRS_PIPELINE}),
        Contender("zarrs, tuned", "zarrs", "zarr", {"config": zarrs, "threads": 2 * cores}),
        Contender("tensorstore, defaults", "tensorstore", "tensorstore"),
        Contender("tensorstore, tuned", "tensorstore", "tensorstore", {"context": limits, "batch": True}),
        Contender("tensorstore, mapped", "tensorstore", "tensorstore", {"context": mapped, "batch": True}),
    ]


def run(
    contender: Contender, made: Made, store: Store, repetitions: int, folder: str
) -> tuple[dict[int, dict[str, Any]], str]:
    """What the program says of each cell of the store, by the cell's index; why it did not come to its end, or "".

    Args:
        contender: who.
        made: its environment.
        store: what is read.
        repetitions: number of counted repetitions.
        folder: for the program's own files.
    """
    request = {
        "store": store.path,
        "version": 2 if store.kind.startswith("v2") else 3,
        "array": store.array,
        "cells": store.cells,
        "settings": contender.settings,
        "repetitions": repetitions,
    }
    lines, failed = Program(made, contender.program, "reads", SILENT_SECONDS).run(request, folder)
    return by_cell(lines), f"{contender.name}: {failed}" if failed else ""
