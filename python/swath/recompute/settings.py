"""Checks the arguments `memory` and `disk`: how much memory and disk may keep batches."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from swath.base.memory_budget import available_bytes, memory_bytes
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks
from swath.recompute.choice import DiskLimit

MIB = 1 << 20
AUTO_PART = 4
""""auto" memory: a quarter of the available memory, divided by the ranks of the node."""
MEMORY_WHEN_UNKNOWN = 256 * MIB
BUFFERED_BATCHES = 4
BUFFER_MIN = 4 * MIB
BUFFER_PART = 4


@dataclasses.dataclass(frozen=True)
class Memory:
    """Memory of one rank.

    Attributes:
        keep_bytes: for kept batches.
        buffer_bytes: for batches that are read ahead, and the same for those written behind.
    """

    keep_bytes: int
    buffer_bytes: int

    @staticmethod
    def of(budget: int, largest: int, *, with_file: bool) -> Memory:
        """Divide a budget. Buffers have space for at least one batch each, with any budget."""
        if not with_file:
            return Memory(budget, 0)
        buffer = max(largest, min(BUFFERED_BATCHES * largest, max(budget // BUFFER_PART, BUFFER_MIN)))
        return Memory(max(0, budget - 2 * buffer), buffer)


def checked_memory(memory: Any) -> int | None:
    """Return the budget in bytes; None for "auto". Raises ArgumentError."""
    if memory == "auto":
        return None
    if memory == 0 and not isinstance(memory, bool):
        return 0
    return memory_bytes(memory)


def memory_of(memory: int | None, ranks: Ranks) -> int:
    """Return the bytes of this rank."""
    if memory is not None:
        return memory
    available = available_bytes()
    return MEMORY_WHEN_UNKNOWN if available is None else available // (AUTO_PART * ranks.most_on_a_node)


def disk_limit(disk: Any, nbytes: int) -> DiskLimit:
    """Return the limit of `nbytes` bytes on disk. Raises ArgumentError."""
    if isinstance(disk, str) and disk == "auto":
        return DiskLimit(nbytes)
    if isinstance(disk, str):
        return DiskLimit(min(memory_bytes(disk), nbytes), is_fixed=True)
    if isinstance(disk, float) and 0 <= disk <= 1:
        return DiskLimit(math.floor(disk * nbytes), is_fixed=True)
    if isinstance(disk, int) and not isinstance(disk, bool) and disk >= 0:
        return DiskLimit(min(disk, nbytes), is_fixed=True)
    raise ArgumentError(
        f'disk={disk!r}: expected "auto", a part of the bytes from 0.0 to 1.0, bytes, or text such as "2GiB"'
    )
