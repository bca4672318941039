"""The measurements of one iteration on one rank."""

from __future__ import annotations

import time

import numpy as np

from swath.recompute.batch_file import Transfer
from swath.recompute.plan import BalancedIteration
from swath.recompute.prices import COLD_MAX, Transfers


class Measured:
    """Sums, and the seconds of each batch. Adding to them takes almost no time.

    Attributes:
        computing: seconds of each batch that was computed; NaN for the others.
        cached: part of each batch in the page cache when it was to be read; NaN for those that were not.
        cold, warm, written: reads that the disk served, those that the page cache served, and writes.
        waited_for_disk, waiting_for_writes: seconds of the program's waits for background reads, and for writes.
        counts: of the iteration, at its end.
    """

    def __init__(self, batches: int) -> None:
        self.computing = np.full(batches, np.nan)
        self.cached = np.full(batches, np.nan)
        self.cold, self.warm, self.written = Transfers(), Transfers(), Transfers()
        self.waited_for_disk = 0.0
        self.counts = BalancedIteration()
        self.batches_from_memory = 0
        self.waiting = self.waiting_for_writes = self.using = 0.0
        self._computed = self._read = (0, 0, 0.0)
        self._begin = time.monotonic()

    def add_computed(self, position: int, nbytes: int, seconds: float, with_copies: float) -> None:
        """Add a batch that was computed in `seconds`; `with_copies` includes the time of keeping it."""
        self.computing[position] = seconds
        self._computed = _added(self._computed, nbytes, with_copies)

    def wait_for_disk(self, seconds: float) -> None:
        """Add a wait of the program for a background read."""
        self.waiting += seconds
        self.waited_for_disk += seconds

    def add_read(self, position: int, nbytes: int, transfer: Transfer) -> None:
        """Add a batch that was read in the background."""
        self._read = _added(self._read, nbytes, transfer.seconds)
        if self.cached[position] <= COLD_MAX:
            self.cold.add(nbytes, transfer.begin, transfer.seconds)

    def add_read_at_once(self, nbytes: int, begin: float, seconds: float) -> None:
        """Add a batch that the program itself read from the page cache."""
        self._read = _added(self._read, nbytes, seconds)
        self.waiting += seconds
        self.warm.add(nbytes, begin, seconds)

    def add_written(self, nbytes: int, transfer: Transfer) -> None:
        """Add a batch that was written."""
        self.written.add(nbytes, transfer.begin, transfer.seconds)

    def end(self, *, is_whole: bool = False) -> None:
        """Compute the counts from the sums."""
        computed, bytes_computed, computing = self._computed
        read, bytes_read, reading = self._read
        self.counts = BalancedIteration(
            batches_computed=computed,
            batches_read=read,
            batches_from_memory=self.batches_from_memory,
            batches_written=len(self.written.intervals),
            bytes_computed=bytes_computed,
            bytes_read=bytes_read,
            bytes_written=self.written.nbytes,
            computing=computing,
            reading=reading,
            writing=self.written.seconds,
            waiting=self.waiting,
            waiting_for_writes=self.waiting_for_writes,
            using=self.using,
            total=time.monotonic() - self._begin,
            is_whole=is_whole,
        )


def _added(sums: tuple[int, int, float], nbytes: int, seconds: float) -> tuple[int, int, float]:
    batches, of_bytes, of_seconds = sums
    return batches + 1, of_bytes + nbytes, of_seconds + seconds
