"""Decides in the first iteration which batches are kept, from those that were computed so far. Pure."""

from __future__ import annotations

import numpy as np

from swath.recompute.choice import DiskLimit, RankBatches, Seconds, Source, choose

GROWTH = 1.25
"""The threshold is computed again when the number of known batches has grown by this factor."""


class Online:
    """Decides for each batch. Memory takes the first ones; the most expensive of those computed so far go to disk.

    Args:
        nbytes: of all batches of this rank.
        memory_bytes: the memory for batches.
        disk_bytes: the space of this rank on disk.
        is_fixed: whether it must use this much, and not only the best amount.
        seconds_a_byte: the first guess for reading.
    """

    def __init__(self, nbytes: int, memory_bytes: int, disk_bytes: int, is_fixed: bool, seconds_a_byte: float) -> None:
        self._nbytes = nbytes
        self._memory_room = memory_bytes
        self._disk_bytes = disk_bytes
        self._disk_room = disk_bytes
        self._is_fixed = is_fixed
        self._price = seconds_a_byte
        self._sizes: list[int] = []
        self._seconds: list[float] = []
        self._threshold = 0.0
        self._next = 0

    def measured(self, seconds_a_byte: float) -> None:
        """Set the seconds per byte of writing, the best estimate for reading."""
        self._price = seconds_a_byte

    def place(self, nbytes: int, seconds: float, using: float) -> Source:
        """Return the place of a batch that took `seconds` to compute; `using`: the program's seconds so far."""
        if nbytes <= self._memory_room:
            self._memory_room -= nbytes
            return Source.IN_MEMORY
        self._sizes.append(nbytes)
        self._seconds.append(seconds)
        if len(self._sizes) >= self._next:
            self._next = int(len(self._sizes) * GROWTH) + 1
            self._threshold = self._found(using)
        is_dear = seconds / max(nbytes, 1) >= self._threshold
        if not is_dear or nbytes > self._disk_room:
            return Source.COMPUTED
        self._disk_room -= nbytes
        return Source.ON_DISK

    def not_written(self, nbytes: int) -> None:
        """Undo the count of a batch whose write failed."""
        self._disk_room += nbytes

    def _found(self, using: float) -> float:
        """Return the seconds per byte from which on a batch is kept on disk."""
        if self._is_fixed and self._disk_bytes >= self._nbytes:
            return 0.0  # there is space for all
        nbytes = np.array(self._sizes, np.int64)
        seconds: Seconds = np.array(self._seconds, np.float64)
        share = float(nbytes.sum()) / max(self._nbytes, 1)
        nothing = np.zeros(len(nbytes))
        reading = np.float64(self._price) * nbytes
        seen = RankBatches(nbytes, seconds, reading, nothing, using, 0, nothing.astype(np.int8))
        limit = int(np.ceil(self._disk_bytes * min(1.0, share)))
        chosen = choose([seen], DiskLimit(limit, self._is_fixed)).places[0] == Source.ON_DISK
        dear = seconds / np.maximum(nbytes, 1)
        return float(dear[chosen].min()) if chosen.any() else float(np.nextafter(dear.max(), np.inf))
