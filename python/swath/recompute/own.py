"""The state of a `swath.Balanced` on one rank, from iteration to iteration."""

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
"""After this many, nothing more is written."""

Produce = Callable[[int], Values]


@dataclasses.dataclass
class Own:
    """The batches of one rank, and their places.

    Attributes:
        batches: of all ranks.
        mine: this rank's, ascending.
        produce: computes one.
        is_given_order: whether they come in ascending order.
        waits_to_write: whether a batch is written even if writing is slower than computing.
        keep_bytes: the memory for kept batches.
        buffer_bytes: the memory for batches that are read ahead, and the same for those written behind.
        places: the wanted place of each of `mine`.
        memory: the batches in memory.
        memory_bytes: their bytes.
        seconds: the seconds of the last computation, by batch.
        stored: the records of the batches on disk.
        file: on disk; None without one.
        may_write: whether the file can take more batches.
        failed_reads: their number.
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
        """Return whether an iteration reads a batch whose wanted place is `place`."""
        return batch not in self.memory and batch in self.stored and place != Source.COMPUTED

    def check(self, batch: int, values: Any) -> None:
        """Raise ArgumentError if `produce` returned values that do not fit the batch."""
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
        """Keep a copy of a batch in memory, if there is space."""
        if batch not in self.memory and self.memory_bytes + values.nbytes <= self.keep_bytes:
            self.memory[batch] = np.array(values, order="C")
            self.memory_bytes += values.nbytes

    def forget(self, batch: int) -> None:
        """Free the memory of a batch."""
        self.memory_bytes -= self.memory.pop(batch).nbytes

    def clear(self) -> None:
        """Free all memory, at the end."""
        self.memory.clear()
        self.memory_bytes = 0
        self.buffers.clear()

    # ---- the file ----------------------------------------------------------------------------------------------------

    def checked(self, batch: int, memory: Values) -> None:
        """Raise DamagedError if the bytes that were read differ from those that were written."""
        assert self.file is not None
        self.file.check(batch, self.stored[batch].checksum, memory)

    def read_failed(self, batch: int, error: Error) -> None:
        """Record that a batch cannot be read; after several failures nothing is written any more."""
        self.failed_reads += 1
        self.stored.pop(batch, None)
        if self.failed_reads >= FAILED_READS_MAX:
            self.may_write = False
        self.notes.append(f"computed again because reading failed: {error}")

    def write_failed(self, error: Error) -> None:
        """Record that the file cannot take more batches."""
        if self.may_write:
            self.notes.append(f"nothing more is kept on disk because writing failed: {error}")
        self.may_write = False
