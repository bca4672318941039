"""The costs of several streams at the same time, for the page cache and for the device."""

from __future__ import annotations

from functools import partial

from swath import _core
from swath.calibration.measuring import Measuring
from swath.calibration.samples import slowdowns

STREAM_REQUEST = 512 << 10


def streams(medium: str, measuring: Measuring, seconds: float) -> None:
    """Measure how much longer each of several streams takes, each in its own part of the file."""
    file = measuring.file
    part_min = 4 * STREAM_REQUEST
    candidates = sorted({1, 2, measuring.cores, 2 * measuring.cores})
    numbers = [n for n in candidates if n <= 2 or n * part_min <= file.nbytes]
    part = file.nbytes // numbers[-1]
    request = min(STREAM_REQUEST, part)
    for direction in ("read", "write"):
        write = direction == "write"

        def timed(streams: int, write: bool = write) -> tuple[float, int]:
            one, made = _core.time_streams(
                file.path,
                write,
                request,
                part // request,
                sync=write and medium == "device",
                streams=streams,
                distance=part,
                seconds_max=seconds / 8,
            )
            return one * streams / made, made * request

        met = partial(file.warm, synced=write) if medium == "cache" else partial(file.cold, reads=not write)
        samples = measuring.in_turn([partial(met, partial(timed, n)) for n in numbers], seconds / 2)
        measuring.findings.set_curve(f"{medium}.{direction}_slowdown", numbers, slowdowns(samples))
