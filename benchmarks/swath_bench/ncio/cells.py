"""From repetitions to the numbers of one contender in one cell."""

from __future__ import annotations

import collections
import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Asked:
    """The work of all contenders of a cell.

    Attributes:
        direction: "read" or "write".
        useful_bytes: bytes of all ranks' regions.
        synced: whether every write was followed by a sync.
        keep_extremes: whether the highest and the lowest repetition count; they are dropped only if there are three.
    """

    direction: str
    useful_bytes: int
    synced: bool
    keep_extremes: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of a contender.

    Attributes:
        repetitions: the counted ones, in the order in which they ran; "dropped" is set later. "chosen" is the method
            that "auto" took; for the contender it is the one that it took most often.
        refused: the reason if it cannot do it at all.
        skipped: the reason if it was not tried.
        predicted_seconds: the plan's seconds of the operation, without sync.
    """

    repetitions: Sequence[dict[str, Any]] = ()
    refused: str | None = None
    skipped: str | None = None
    predicted_seconds: float | None = None


def contender_entry(family: str, asked: Asked, outcome: Outcome) -> dict[str, Any]:
    """Return a contender's entry in the JSON: all its repetitions, with the highest and lowest marked as dropped.

    `family` is "swath", "mpich", "openmpi", "h5py", "zarr", "tensorstore".
    """
    marked = [dict(r, dropped=False) for r in outcome.repetitions]
    if len(marked) >= 3 and not asked.keep_extremes:
        by_time = sorted(marked, key=lambda r: float(r["seconds"]))
        by_time[0]["dropped"] = by_time[-1]["dropped"] = True
    kept = [r for r in marked if not r["dropped"]]
    seconds = [r["seconds"] for r in kept]
    mean = statistics.fmean(seconds) if seconds else None
    return {
        "peer": family != "swath",
        "family": family,
        "chosen": _most_often([r["chosen"] for r in kept if r.get("chosen") is not None]),
        "predicted_seconds": outcome.predicted_seconds,
        "repetitions": marked,
        "mean_seconds": mean,
        "low_seconds": min(seconds, default=None),
        "high_seconds": max(seconds, default=None),
        "megabytes_per_second": asked.useful_bytes / mean / 1e6 if mean else None,
        "reached_device": _reached_device(kept, asked),
        "refused": outcome.refused,
        "skipped": outcome.skipped,
    }


def _most_often(methods: Sequence[str]) -> str | None:
    return collections.Counter(methods).most_common(1)[0][0] if methods else None


def _reached_device(kept: Sequence[dict[str, Any]], asked: Asked) -> bool | None:
    """Return whether the device moved at least the useful bytes in every kept repetition; None if that is unknown.

    The answer for a write without sync is no, even if bytes were written in that time.
    """
    if asked.direction == "write" and not asked.synced:
        return False
    moved = [r["device_read_bytes" if asked.direction == "read" else "device_written_bytes"] for r in kept]
    if not moved or None in moved:
        return None
    return bool(min(moved) >= asked.useful_bytes)
