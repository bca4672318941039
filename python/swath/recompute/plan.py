"""What `swath.Balanced` does and why: numbers, words, and the predicted curve over the share on disk."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class BalancedIteration:
    """What one iteration did on this rank. Sizes in bytes, times in seconds.

    Attributes:
        batches_computed, batches_read, batches_from_memory, batches_written: how many.
        bytes_computed, bytes_read, bytes_written: of them.
        computing: in `produce`, and copying what is kept.
        reading: that the disk and the copying from it took, in the background.
        writing: that writing took, in the background.
        waiting: that the program waited for reads.
        waiting_for_writes: and for writes: for room to write behind, and at the end for the last ones.
        using: between two batches, in the program.
        total: from the first batch asked for to the end.
        is_whole: False where the program left the loop early.
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
    """Where the batches of all ranks go in the next iteration, and what it is predicted to take.

    Attributes:
        iterations: that are over.
        batches: how many, of all ranks.
        nbytes: of all of them.
        memory_share, disk_share: part of the bytes kept in memory, and on disk; the rest is computed again.
        memory_bytes: of this rank, that may keep batches.
        buffer_bytes: of this rank, for batches read ahead and written behind.
        seconds: predicted of an iteration.
        computing_seconds: of it computing and using, of the longest rank.
        reading_seconds: of it reading, of the disk, beside computing and using.
        read_bytes_per_second: of the disk, all ranks together.
        curve: (share of the bytes on disk, predicted seconds), from none to all that memory leaves.
        reason: why so, in words.
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
