"""Sizes, times and shapes as text for people."""

from __future__ import annotations

BYTES_IN_UNIT = 1024


def in_bytes(count: int) -> str:
    """Return 1536 as "1.5 KiB"."""
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    power = 0
    while power + 1 < len(units) and count >= BYTES_IN_UNIT ** (power + 1):
        power += 1
    return f"{count} B" if power == 0 else f"{count / BYTES_IN_UNIT**power:.1f} {units[power]}"


def in_seconds(seconds: float) -> str:
    """Return 0.0123 as "12.3 ms"."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def by(shape: tuple[int, ...]) -> str:
    """Return (54, 18, 432) as "54 × 18 × 432"; the shape of a single value as "scalar"."""
    return " × ".join(f"{extent:,}" for extent in shape) or "scalar"
