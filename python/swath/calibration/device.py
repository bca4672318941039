"""The costs of the device behind the page cache, and of syncing to it."""

from __future__ import annotations

import time
from functools import partial

from swath.calibration.file import Requests
from swath.calibration.measuring import Measuring
from swath.calibration.samples import Sample

PAGE = 4 << 10
LIST_BATCH = 64
RANDOM_STRIDE = 16 << 10
WRITES_MAX = 1 << 14
"""The writes of one repetition, which ends with a sync."""


def syncs(measuring: Measuring, seconds: float) -> None:
    """Measure the fixed part of a sync, and the cost of each additional byte, over a few sizes."""
    file = measuring.file
    piece = 1 << 20
    sizes = [size for size in (0, 1 << 20, 4 << 20, 16 << 20) if size <= file.nbytes // 2]

    def run(size: int) -> float:
        file.file.sync()
        if size:
            file.request(Requests(True, piece, 0, piece, size // piece))
        else:
            file.request(Requests(True, 8, 0, 8, 1))
        begin = time.perf_counter()
        file.file.sync()
        return time.perf_counter() - begin

    fixed, *more = measuring.in_turn([partial(run, size) for size in sizes], seconds)
    measuring.findings.set("sync_seconds", fixed.median, fixed.spread)
    if more:
        longer = sum(sample.median - fixed.median for sample in more)
        measuring.findings.set(
            "sync_byte_seconds", max(0.0, longer) / sum(sizes), max(sample.spread for sample in more)
        )


def reads(measuring: Measuring, seconds: float) -> None:
    """Measure reads of each size that follow each other."""
    sizes = measuring.sizes()
    share = seconds / len(sizes)
    samples = []
    for size in sizes:
        samples += measuring.in_turn(
            [partial(measuring.file.cold, partial(measuring.file.one, False, size, share / 4))], share
        )
    measuring.findings.set_curve("device.read", sizes, samples)


def jumps(measuring: Measuring, seconds: float) -> None:
    """Measure the additional cost of a page at a random place, alone or in a batch."""
    for name, batch in (("read_jump", 1), ("read_jump_batched", LIST_BATCH)):
        scattered = partial(
            measuring.file.one, False, PAGE, seconds / 12, stride=RANDOM_STRIDE, batch=batch, shuffled=True
        )
        sample = measuring.in_turn([partial(measuring.file.cold, scattered)], seconds / 2)[0]
        measuring.findings.set(
            f"device.{name}", max(0.0, sample.median - measuring.findings.at("device.read", PAGE)), sample.spread
        )


def writes(measuring: Measuring, seconds: float) -> None:
    """Measure writes of an uncached file, with one sync at the end, minus the fixed part of that sync."""
    file, findings = measuring.file, measuring.findings
    sizes = measuring.sizes()
    share = seconds / (len(sizes) + 1)

    def written(size: int, stride: int, shuffled: bool) -> tuple[float, int]:
        count = min(file.nbytes // stride, WRITES_MAX)
        requests = Requests(True, size, 0, stride, count)
        timed, made = file.request(requests, shuffled=shuffled, sync=True, seconds_max=share / 6)
        return max(timed - findings.numbers["sync_seconds"], 0.1 * timed) / made, made * size

    def sample(size: int, stride: int, *, shuffled: bool) -> Sample:
        return measuring.in_turn([partial(file.cold, partial(written, size, stride, shuffled), reads=False)], share)[0]

    findings.set_curve("device.write", sizes, [sample(size, size, shuffled=False) for size in sizes])
    jumping = sample(64, RANDOM_STRIDE, shuffled=True)
    findings.set("device.write_jump", max(0.0, jumping.median - findings.at("device.write", 64)), jumping.spread)
