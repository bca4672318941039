"""The costs of this machine, with any store: copies in memory, barriers of ranks, and the overhead of an operation."""

from __future__ import annotations

import os
import time
from functools import partial

import numpy as np

from swath import _core
from swath.array import opening
from swath.calibration.file import WINDOW
from swath.calibration.measuring import Measuring
from swath.calibration.samples import Sample, seconds_of, slowdowns
from swath.errors import StoreError, UnsupportedError

COPIED_BLOCKS = (1, 4, 8, 16, 64, 512, 4 << 10)
RANKS_THAT_MEET = (1, 2, 4, 8)
COLD_BYTES = 4 << 20
"""A program that has touched this many bytes has replaced this process's data in its core's caches."""


def operation(measuring: Measuring, seconds: float) -> None:
    """Measure an 8-byte read from an open array, minus its pread."""
    path = os.path.join(os.path.dirname(measuring.file.path), "operation.npy")
    np.save(path, np.zeros(8))
    calls = 20
    with opening.open(path) as opened, open(path, "rb") as plain:

        def operations() -> float:
            begin = time.perf_counter()
            for _ in range(calls):
                opened.read(selection=np.s_[:1], method="direct")
            return (time.perf_counter() - begin) / calls

        def preads() -> float:
            begin = time.perf_counter()
            for _ in range(calls):
                os.pread(plain.fileno(), 8, 128)
            return (time.perf_counter() - begin) / calls

        whole, pread = measuring.in_turn([operations, preads], seconds / 2)
    measuring.findings.set("operation_seconds", max(0.0, whole.median - pread.median), whole.spread)
    values, others = np.zeros(1), np.ones(COLD_BYTES // 8)
    with opening.open(path, mode="r+") as opened:

        def late_operation() -> float:
            opened.sync()
            others.sum()  # the program's work between operations, which fills the caches
            return seconds_of(lambda: opened.write(values, selection=np.s_[:1], method="direct"))

        late = measuring.in_turn([late_operation], seconds / 2)[0]
    measuring.findings.set("late_operation_seconds", max(0.0, late.median - pread.median), late.spread)


def copies(measuring: Measuring, seconds: float) -> None:
    """Measure copies in memory, by the length of blocks; and on several cores at the same time."""
    share = seconds / 5
    memory = measuring.effort.memory_bytes
    for name, gather, exchange in (
        ("gather", True, False),
        ("scatter", False, False),
        ("exchange_gather", True, True),
        ("exchange_scatter", False, True),
    ):
        samples = [
            Sample.of(_core.time_copies(gather, exchange, block, WINDOW, memory, share / len(COPIED_BLOCKS)))
            for block in COPIED_BLOCKS
        ]
        measuring.findings.set_curve(name, COPIED_BLOCKS, samples)
    numbers = sorted({1, 2, measuring.cores, 2 * measuring.cores})
    memory = max(WINDOW, min(memory, (512 << 20) // numbers[-1]) // WINDOW * WINDOW)
    samples = measuring.in_turn(
        [partial(_core.time_copies_at_once, 8, WINDOW, memory, n, share / 40) for n in numbers], share
    )
    measuring.findings.set_curve("copy_slowdown", numbers, slowdowns(samples))


def meetings(measuring: Measuring, seconds: float) -> None:
    """Measure barriers of ranks of one node, idle and between copies; and the cost of visiting a part of a window."""
    findings = measuring.findings
    share = seconds / (2 * len(RANKS_THAT_MEET) + 1)
    visits = Sample.of(_core.time_visits(share))
    findings.set("visit_seconds", visits.median, visits.spread)
    try:
        barriers = [Sample.of(_core.time_barriers(ranks, share)) for ranks in RANKS_THAT_MEET]
        rounds = [Sample.of(_core.time_rounds(ranks, share)) for ranks in RANKS_THAT_MEET]
    except (UnsupportedError, StoreError) as error:
        findings.known["barrier"] = f"not measured, stated defaults: {error}"
        return
    findings.set_curve("barrier", RANKS_THAT_MEET, barriers)
    findings.set_curve("round", RANKS_THAT_MEET, rounds)
