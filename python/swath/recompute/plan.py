"""The plan of `swath.Balanced` and its reasons: numbers, text, and the predicted curve over the share on disk."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class BalancedIteration:
    """The measurements of one iteration on this rank. Sizes in bytes, times in seconds.

    Attributes:
        batches_computed, batches_read, batches_from_memory, batches_written: the number of each.
        bytes_computed, bytes_read, bytes_written: their bytes.
        computing: in `produce`, and copying kept batches.
        reading: of the disk and of copying from it, in the background.
        writing: in the background.
        waiting: the program's waits for reads.
        waiting_for_writes: and for writes: for space in the buffers, and at the end for the last writes.
        using: between two batches, in the program.
        total: from the request of the first batch to the end.
        is_whole: False if the program left the loop early.
    """

    batches_computed: int = 0
    batches_read: int = 0
    batches_from_memory: int = 0
    batches_written: int = 0
    bytes_computed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    computing: float = 0.0
    reading: float = 0.0
    writing: float = 0.0
    waiting: float = 0.0
    waiting_for_writes: float = 0.0
    using: float = 0.0
    total: float = 0.0
    is_whole: bool = False


@dataclasses.dataclass(frozen=True)
class BalancedPlan:
    """The places of all ranks' batches in the next iteration, and its predicted time.

    Attributes:
        iterations: the number of finished iterations.
        batches: the number of batches of all ranks.
        nbytes: their bytes.
        memory_share, disk_share: the part of the bytes in memory, and on disk; the rest is computed again.
        memory_bytes: the memory of this rank for kept batches.
        buffer_bytes: the memory of this rank for batches that are read ahead and written behind.
        seconds: the predicted seconds of an iteration.
        computing_seconds: of these, computing and using on the slowest rank.
        reading_seconds: of these, reading from the disk, at the same time.
        read_bytes_per_second: of the disk, all ranks together.
        curve: (share of the bytes on disk, predicted seconds), from nothing to all that is not in memory.
        reason: the reason of the plan.
        notes: what went wrong on this rank, and was computed instead.
    """

    iterations: int
    batches: int
    nbytes: int
    memory_share: float
    disk_share: float
    memory_bytes: int
    buffer_bytes: int
    seconds: float
    computing_seconds: float
    reading_seconds: float
    read_bytes_per_second: float
    curve: list[tuple[float, float]]
    reason: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        computed = max(0.0, 1 - self.memory_share - self.disk_share)
        lines = [
            f"{self.batches} batches, {_size(self.nbytes)}, after {self.iterations} iterations",
            (
                f"  in memory  {self.memory_share:6.1%}, at most {_size(self.memory_bytes)} on this rank, "
                f"and {_size(self.buffer_bytes)} of buffers"
            ),
            f"  on disk    {self.disk_share:6.1%}, read at {_size(self.read_bytes_per_second)}/s",
            f"  computed   {computed:6.1%}",
            f"  predicted  {self.seconds:.3g} s an iteration: the longer of {self.computing_seconds:.3g} s",
            f"             computing and using, and {self.reading_seconds:.3g} s reading",
            f"  why        {self.reason}",
            *(f"  note       {note}" for note in self.notes),
        ]
        if self.curve:
            lines.append("  on disk, predicted seconds: " + ", ".join(f"{x:.0%} {t:.3g}" for x, t in self.curve))
        return "\n".join(lines)


def _size(nbytes: float) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):.1f} {unit}"
    return f"{nbytes:.0f} B"
