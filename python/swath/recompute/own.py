"""What one rank has of a `swath.Balanced`, from iteration to iteration."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from swath.errors import ArgumentError, Error
from swath.recompute.batch_file import BatchFile, Kept, Values
from swath.recompute.buffers import Buffers
from swath.recompute.choice import Places, Source
from swath.recompute.dealing import Batches

FAILED_READS_MAX = 3
"""After so many nothing more is written."""

Produce = Callable[[int], Values]


@dataclasses.dataclass
class Own:
    """The batches of one rank, and where they are.

    Attributes:
        batches: of all ranks.
        mine: this rank's, ascending.
        produce: computes one.
        is_given_order: whether they come in ascending order.
        waits_to_write: whether a batch is written even where writing is slower than computing.
        keep_bytes: of memory that may keep batches.
        buffer_bytes: of memory for batches read ahead, and as many for those written behind.
        places: where each of `mine` shall be.
        memory: what is kept in memory, by batch.
        memory_bytes: of them.
        seconds: that the batches took that were computed last, by batch.
        stored: what is kept on disk, by batch.
        file: on disk; None without one.
        may_write: whether the file takes more.
        failed_reads: how many there were.
        notes: what went wrong.
        buffers: memory for reads and writes.
    """

    batches: Batches
    mine: np.ndarray[tuple[int], np.dtype[np.int64]]
    produce: Produce
    is_given_order: bool
    waits_to_write: bool
    keep_bytes: int
    buffer_bytes: int
    places: Places
    memory: dict[int, Values] = dataclasses.field(default_factory=dict)
    memory_bytes: int = 0
    seconds: dict[int, float] = dataclasses.field(default_factory=dict)
    stored: dict[int, Kept] = dataclasses.field(default_factory=dict)
    file: BatchFile | None = None
    may_write: bool = False
    failed_reads: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)
    buffers: Buffers = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.buffers = Buffers(2 * self.buffer_bytes)

    def nbytes(self, batch: int) -> int:
        """Return the bytes of a batch."""
        return int(self.batches.nbytes[batch])

    def is_to_be_read(self, batch: int, place: Source) -> bool:
        """Return whether an iteration reads a batch that shall be at a place."""
        return batch not in self.memory and batch in self.stored and place != Source.COMPUTED

    def check(self, batch: int, values: Any) -> None:
        """Raise ArgumentError where `produce` has returned something else than a batch."""
        batches = self.batches
        if isinstance(values, np.ndarray) and values.shape == batches.shapes[batch] and values.dtype == batches.dtype:
            return
        said = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else f"a {type(values).__name__}"
        raise ArgumentError(
            f"produce({batch}) returned {said}; expected an ndarray of {batches.dtype} {batches.shapes[batch]}, as "
            "sizes and dtype say"
        )

    # ---- memory ------------------------------------------------------------------------------------------------------

    def keep(self, batch: int, values: Values) -> None:
        """Keep a copy of a batch in memory, where there is room."""
        if batch not in self.memory and self.memory_bytes + values.nbytes <= self.keep_bytes:
            self.memory[batch] = np.array(values, order="C")
            self.memory_bytes += values.nbytes

    def forget(self, batch: int) -> None:
        """Keep a batch in memory no longer."""
        self.memory_bytes -= self.memory.pop(batch).nbytes

    def clear(self) -> None:
        """Keep nothing in memory, when all is over."""
        self.memory.clear()
        self.memory_bytes = 0
        self.buffers.clear()

    # ---- the file ----------------------------------------------------------------------------------------------------

    def checked(self, batch: int, memory: Values) -> None:
        """Raise DamagedError where what was read is not what was written."""
        assert self.file is not None
        self.file.check(batch, self.stored[batch].checksum, memory)

    def read_failed(self, batch: int, error: Error) -> None:
        """Take note that a batch cannot be read; after some no more are written."""
        self.failed_reads += 1
        self.stored.pop(batch, None)
        if self.failed_reads >= FAILED_READS_MAX:
            self.may_write = False
        self.notes.append(f"computed again because reading failed: {error}")

    def write_failed(self, error: Error) -> None:
        """Take note that the file takes no more."""
        if self.may_write:
            self.notes.append(f"nothing more is kept on disk because writing failed: {error}")
        self.may_write = False
