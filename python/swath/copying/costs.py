"""The numbers of the store's profile that give the price of a copy. Pure."""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Mapping
from typing import Any

Curve = tuple[tuple[float, float], ...]

PAGE_BYTES = 4096
MERGE_BYTES = 1 << 30
MERGE_PART = 16
"""This much of the target may wait in the page cache until it is contiguous: at most a sixteenth of the available
memory, and 1 GiB. Linux itself begins to write at a tenth, in no useful order."""

AHEAD_PART = 4
"""This part of the available memory may hold bytes of the source before they are read."""


@dataclasses.dataclass(frozen=True)
class Costs:
    """Seconds and bytes.

    Attributes:
        source: the origin of the numbers, for explanations.
        cores: the number of cores that may copy at the same time.
        read, write: seconds of one device request by its bytes, if it follows the last one.
        read_jump: additional seconds of a request that does not follow the last one, with many in flight.
        write_jump: the same for a write.
        cache_read, cache_write: seconds of one request that uses the page cache.
        shuffle_byte: seconds to move one byte into another order in memory.
        sync: seconds of a sync with little left to write.
        decode, encode: seconds of one core to decode one byte of the source, and to encode one of the target.
        merge_bytes: the bytes of the target that the page cache may keep until they are contiguous.
        ahead_bytes: the bytes of the source that it may hold before they are read; 0 if it holds all of it.
        workers: processes of each node that share the tiles.
        nodes: the number of nodes.
    """

    source: str
    cores: float
    read: Curve
    read_jump: float
    write: Curve
    write_jump: float
    cache_read: Curve
    cache_write: Curve
    shuffle_byte: float
    sync: float
    merge_bytes: int = MERGE_BYTES
    ahead_bytes: int = 0
    decode: float = 0.0
    encode: float = 0.0
    workers: int = 1
    nodes: int = 1

    @staticmethod
    def of(numbers: Mapping[str, Any], available_bytes: int | None = None, *, cached: bool = False) -> Costs:
        """Return the costs from a profile's numbers (core/plan/profile.h).

        Args:
            numbers: of the profile.
            available_bytes: memory that the page cache may use; None if it is not known.
            cached: the source is in the page cache.
        """

        def curve(name: str) -> Curve:
            return tuple((float(x), float(y)) for x, y in numbers[name])

        medium = "device" if numbers["device.read"] else "cache"
        source = "cache" if cached else medium
        copies = curve("gather"), curve("memory_byte_store"), curve("memory_byte_load")
        return Costs(
            source=str(numbers["source"]),
            cores=float(numbers["cores"]),
            read=curve(f"{source}.read"),
            read_jump=float(numbers[f"{source}.read_jump_batched"]),
            write=curve(f"{medium}.write"),
            write_jump=float(numbers[f"{medium}.write_jump"]),
            cache_read=curve("cache.read"),
            cache_write=curve("cache.write"),
            shuffle_byte=at(copies[0], 64) + sum(c[-1][1] for c in copies[1:]),
            sync=float(numbers["sync_seconds"]),
            ahead_bytes=0 if cached or available_bytes is None else available_bytes // AHEAD_PART,
            merge_bytes=MERGE_BYTES if available_bytes is None else min(MERGE_BYTES, available_bytes // MERGE_PART),
        )


def at(curve: Curve, x: float) -> float:
    """Return the curve at x: linear between its points, constant before the first, proportional after the last."""
    if x <= curve[0][0]:
        return curve[0][1]
    if x >= curve[-1][0]:
        return curve[-1][1] * x / curve[-1][0]
    right = bisect.bisect_left(curve, (x, 0.0))
    (x0, y0), (x1, y1) = curve[right - 1], curve[right]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
