"""The contenders: the environment of each, its settings, and the answer of its program."""

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
"""Longest time without a sign of life of a program, which gives one before every read."""

ZARRS_PIPELINE = {"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}
"""Strict: reads that zarrs cannot do are refused; zarr-python, which is measured separately, does not replace it."""


@dataclasses.dataclass(frozen=True)
class Contender:
    """One way of reading, carried out by a program of `swath_bench.peers.programs`.

    Attributes:
        name: name in tables.
        environment: the environment of its Python; "swath" is the one that runs this.
        program: its module.
        settings: for zarr-python and zarrs {"config": of the library}, for TensorStore {"context": of the library,
            "batch": whether it gets the requests in one batch}; "threads" pass several requests to
            the library at the same time, if it does not take them as one.
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
    """Return Swath, and the contenders of these environments on a machine with this number of cores."""
    return [Contender(SWATH, SWATH, "swath")] + [c for c in _peers(cores) if c.environment in peers]


def _peers(cores: int) -> list[Contender]:
    """Return each peer with its defaults, and tuned: decoding on every core, more reads than that."""
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
    """Return the answers of the program by the index of the cell; and the reason if it did not finish, or "".

    Args:
        contender: who.
        made: its environment.
        store: the store that is read.
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
