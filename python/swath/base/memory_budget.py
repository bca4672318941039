"""Budgets of memory: converts the caller's argument to bytes."""

from __future__ import annotations

import re

from swath.errors import ArgumentError

MIB = 1 << 20
DEFAULT_MEMORY_MAX = 1 << 30
DEFAULT_MEMORY_MIN = 64 * MIB
DEFAULT_MEMORY_PART = 4
UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def memory_bytes(memory: int | str | None) -> int:
    """Return the budget: bytes, text such as "256MiB", or None for a quarter of the available memory, at most 1 GiB.

    Raises ArgumentError.
    """
    if memory is None:
        available = available_bytes()
        quarter = DEFAULT_MEMORY_MAX if available is None else available // DEFAULT_MEMORY_PART
        return max(min(quarter, DEFAULT_MEMORY_MAX), DEFAULT_MEMORY_MIN)
    found = re.fullmatch(r"(\d+)\s*(?:([kmgt])i?b?|b)?", str(memory).strip(), re.IGNORECASE)
    if isinstance(memory, bool) or found is None or int(found[1]) == 0:
        raise ArgumentError(f'memory {memory!r}: expected a number of bytes, or text such as "256MiB"')
    return int(found[1]) << UNITS[(found[2] or "").lower()]


def available_bytes() -> int | None:
    """Return the memory that programs can get without swapping, including reclaimable page cache; None if not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as memory:
            for line in memory:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
