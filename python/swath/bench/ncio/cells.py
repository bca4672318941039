"""From repetitions to the numbers of one contender in one cell."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Sequence
from typing import Any


def contender_entry(
    *,
    family: str,
    peer: bool,
    direction: str,
    useful_bytes: int,
    synced: bool,
    repetitions: Sequence[dict[str, Any]],
    keep_extremes: bool = False,
    predicted_seconds: float | None = None,
    refused: str | None = None,
    skipped: str | None = None,
) -> dict[str, Any]:
    """What the JSON says of a contender: all its repetitions, the highest and lowest marked as dropped, and the rest.

    Args:
        family: "swath", "mpich", "openmpi", "h5py", "zarr", "tensorstore".
        peer: whether it is not Swath.
        direction: "read" or "write".
        useful_bytes: that all ranks' regions hold.
        synced: whether every write was followed by a sync.
        repetitions: the counted ones, in the order in which they ran; "dropped" is set here. "chosen" is the method
            that "auto" took; of the contender it is the one that it took most often.
        keep_extremes: whether the highest and the lowest count; they are dropped only where there are three.
        predicted_seconds: what the plan said of the operation, without sync.
        refused: why it cannot do it at all.
        skipped: why it was not tried.
    """
    marked = [dict(r, dropped=False) for r in repetitions]
    if len(marked) >= 3 and not keep_extremes:
        by_time = sorted(marked, key=lambda r: float(r["seconds"]))
        by_time[0]["dropped"] = by_time[-1]["dropped"] = True
    kept = [r for r in marked if not r["dropped"]]
    seconds = [r["seconds"] for r in kept]
    mean = statistics.fmean(seconds) if seconds else None
    return {
        "peer": peer,
        "family": family,
        "chosen": _most_often([r["chosen"] for r in kept if r.get("chosen") is not None]),
        "predicted_seconds": predicted_seconds,
        "repetitions": marked,
        "mean_seconds": mean,
        "low_seconds": min(seconds, default=None),
        "high_seconds": max(seconds, default=None),
        "megabytes_per_second": useful_bytes / mean / 1e6 if mean else None,
        "reached_device": _reached_device(kept, direction, useful_bytes, synced),
        "refused": refused,
        "skipped": skipped,
    }


def _most_often(methods: Sequence[str]) -> str | None:
    return collections.Counter(methods).most_common(1)[0][0] if methods else None


def _reached_device(kept: Sequence[dict[str, Any]], direction: str, useful_bytes: int, synced: bool) -> bool | None:
    """Whether the device moved at least the useful bytes in every kept repetition; None where that is not known.

    A write without sync has not, whatever was written meanwhile.
    """
    if direction == "write" and not synced:
        return False
    moved = [r["device_read_bytes" if direction == "read" else "device_written_bytes"] for r in kept]
    if not moved or None in moved:
        return None
    return bool(min(moved) >= useful_bytes)
