"""One iteration over this rank's batches: the program's thread computes while another reads and writes.

A batch that has been read goes to the program first, so that the next one can be read; while none has, one is computed;
those in memory go when nothing is left to compute. So computing and reading both go on all the time.
"""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np

from swath.computing.balanced.background import Background
from swath.computing.balanced.batch_file import BatchFile, Kept, Transfer, Values
from swath.computing.balanced.choice import Place, Places
from swath.computing.balanced.dealing import Batches
from swath.computing.balanced.online import Online
from swath.computing.balanced.plan import BalancedIteration
from swath.computing.balanced.prices import CACHED_MIN, COLD_MAX, Reads
from swath.errors import ArgumentError, Error, StoppedError

PROBE_BYTES = 1 << 20
"""So much is read back of the first that is written, to know what the disk takes."""
FAILED_READS_MAX = 3
"""After so many nothing more is written."""

Produce = Callable[[int], Values]


class ProduceError(Exception):
    """Carries what `produce` raised for a batch out of the loop."""

    def __init__(self, batch: int, error: Exception) -> None:
        super().__init__()
        self.batch = batch
        self.error = error


@dataclasses.dataclass
class Own:
    """What one rank has, from iteration to iteration.

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
        stored: what is kept on disk, by batch.
        file: on disk; None without one.
        may_write: whether the file takes more.
        failed_reads: how many there were.
        notes: what went wrong.
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
    stored: dict[int, Kept] = dataclasses.field(default_factory=dict)
    file: BatchFile | None = None
    may_write: bool = False
    failed_reads: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)

    def nbytes(self, batch: int) -> int:
        """Return the bytes of a batch."""
        return int(self.batches.nbytes[batch])

    def memory_bytes(self) -> int:
        """Return the bytes that are kept in memory."""
        return sum(values.nbytes for values in self.memory.values())


class Measured:
    """What one iteration measured on this rank."""

    def __init__(self, batches: int) -> None:
        self.computing = np.full(batches, np.nan)
        self.cached = np.full(batches, np.nan)
        self.cold = Reads()
        self.warm = Reads()
        self.counts = BalancedIteration()
        self.reading_seconds = 0.0
        self.begin = time.monotonic()

    def count(self, **more: float) -> None:
        """Add to the counts."""
        added = {name: getattr(self.counts, name) + value for name, value in more.items()}
        self.counts = dataclasses.replace(self.counts, **added)

    def add_read(self, nbytes: int, read: Transfer) -> None:
        """Learn of the disk, or of the page cache."""
        self.count(reading=read.seconds)
        if read.cached <= COLD_MAX:
            self.cold.add(nbytes, read.begin, read.seconds)
        elif read.cached >= CACHED_MIN:
            self.warm.add(nbytes, read.begin, read.seconds)


class Loop(Iterator[tuple[int, Values]]):
    """An iteration; `finished` is called when all batches have been given, or with the exception that ends it.

    Args:
        own: batches of this rank.
        online: decides what is kept, in the first iteration.
        finished: by whoever made the loop.
    """

    def __init__(self, own: Own, online: Online | None, finished: Callable[[BaseException | None], None]) -> None:
        self._own = own
        self._online = online
        self._finished = finished
        self._background = Background()
        self._position = {int(batch): position for position, batch in enumerate(own.mine)}
        self._to_read: deque[int] = deque()
        self._reads: deque[tuple[int, Future[tuple[Values, Transfer]]]] = deque()
        self._read_bytes = 0
        self._writes: deque[tuple[int, float, Future[tuple[Transfer, int]]]] = deque()
        self._write_bytes = 0
        self._probe: Future[list[tuple[int, Transfer]]] | None = None
        self._to_probe: list[int] = []
        self._has_probed = online is None or own.waits_to_write
        self._given_at: float | None = None
        self._is_over = False
        self.measured = Measured(len(own.mine))
        self._plan()

    def _plan(self) -> None:
        own = self._own
        for batch in [b for b in own.memory if own.places[self._position[b]] == Place.COMPUTED]:
            del own.memory[batch]
        places = {int(batch): Place(place) for batch, place in zip(own.mine, own.places, strict=True)}
        self._sequence = deque(places) if own.is_given_order else deque()
        moved = [b for b in own.memory if places[b] != Place.IN_MEMORY]
        self._kept = deque(b for b in own.memory if places[b] == Place.IN_MEMORY)
        self._first = deque(moved)  # memory that becomes free
        read = [b for b in places if b not in own.memory and b in own.stored and places[b] != Place.COMPUTED]
        self._to_read = deque(read)
        known = {*own.memory, *read}
        rest = [b for b in places if b not in known]
        # What is written is computed first: it is written while the others are computed.
        self._to_compute = deque(sorted(rest, key=lambda b: places[b] != Place.ON_DISK))

    # ---- an iterator -------------------------------------------------------------------------------------------------

    def __next__(self) -> tuple[int, Values]:
        if self._is_over:
            raise StopIteration
        now = time.monotonic()
        if self._given_at is not None:
            self.measured.count(using=now - self._given_at)
        try:
            found = self._next()
            if found is None:
                self._complete()
        except BaseException as error:
            self.stop()
            self._finished(error)
            if isinstance(error, ProduceError):
                raise error.error from None
            raise
        if found is None:
            self._finished(None)
            raise StopIteration
        batch, values = found
        given = values.view()
        given.flags.writeable = False
        self._given_at = time.monotonic()
        return batch, given

    def __del__(self) -> None:
        if hasattr(self, "_is_over"):
            self.stop()

    def stop(self) -> None:
        """Leave the loop: nothing goes on beside the program when it returns."""
        if self._is_over:
            return
        self._is_over = True
        self._background.end(at_once=True)
        self._probe = None
        self._collect_writes()
        self.measured.count(total=time.monotonic() - self.measured.begin)

    def _complete(self) -> None:
        """Wait for what is still written."""
        begin = time.monotonic()
        while self._writes:
            self._collect_write()
        self._take_probe()
        self._background.end()
        self._is_over = True
        now = time.monotonic()
        self.measured.count(waiting=now - begin, total=now - self.measured.begin)
        self.measured.counts = dataclasses.replace(self.measured.counts, is_whole=True)

    # ---- which batch is next -----------------------------------------------------------------------------------------

    def _next(self) -> tuple[int, Values] | None:
        self._collect_writes()
        self._start_reads()
        if self._own.is_given_order:
            return self._given(self._sequence.popleft()) if self._sequence else None
        if self._first:
            return self._from_memory(self._first.popleft())
        if self._reads and self._reads[0][1].done():
            return self._read()
        if self._to_compute:
            return self._computed(self._to_compute.popleft())
        if self._kept:
            return self._from_memory(self._kept.popleft())
        return self._read() if self._reads else None

    def _given(self, batch: int) -> tuple[int, Values]:
        if batch in self._own.memory:
            return self._from_memory(batch)
        if self._reads and self._reads[0][0] == batch:
            return self._read()
        return self._computed(batch)

    def _from_memory(self, batch: int) -> tuple[int, Values]:
        own = self._own
        values = own.memory[batch]
        self.measured.count(batches_from_memory=1)
        if own.places[self._position[batch]] == Place.ON_DISK:
            del own.memory[batch]
            if batch not in own.stored:
                self._write(batch, values, 0.0)
        return batch, values

    def _read(self) -> tuple[int, Values]:
        own = self._own
        batch, future = self._reads.popleft()
        self._read_bytes -= own.nbytes(batch)
        begin = time.monotonic()
        try:
            values, read = future.result()
        except Error as error:
            self._read_failed(batch, error)
            self.measured.count(waiting=time.monotonic() - begin)
            return self._computed(batch)
        self.measured.count(waiting=time.monotonic() - begin, batches_read=1, bytes_read=values.nbytes)
        self.measured.add_read(values.nbytes, read)
        self.measured.cached[self._position[batch]] = read.cached
        self._keep(batch, values)
        self._start_reads()
        return batch, values

    def _read_failed(self, batch: int, error: Error) -> None:
        own = self._own
        own.failed_reads += 1
        own.stored.pop(batch, None)
        if own.failed_reads >= FAILED_READS_MAX:
            own.may_write = False
        own.notes.append(f"computed again because reading failed: {error}")

    def _computed(self, batch: int) -> tuple[int, Values]:
        own, position = self._own, self._position[batch]
        begin = time.monotonic()
        try:
            values = own.produce(batch)
            self._check(batch, values)
        except Exception as error:
            raise ProduceError(batch, error) from error
        seconds = time.monotonic() - begin
        self.measured.computing[position] = seconds
        if self._online is not None:
            own.places[position] = self._online.place(own.nbytes(batch), seconds, self.measured.counts.using)
        place = own.places[position]
        if place == Place.IN_MEMORY:
            self._keep(batch, values, copied=True)
        elif place == Place.ON_DISK and batch not in own.stored:
            self._write(batch, values, seconds, copied=True)
        self.measured.count(computing=time.monotonic() - begin, batches_computed=1, bytes_computed=own.nbytes(batch))
        return batch, values

    def _check(self, batch: int, values: Any) -> None:
        batches = self._own.batches
        if isinstance(values, np.ndarray) and values.shape == batches.shapes[batch] and values.dtype == batches.dtype:
            return
        said = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else f"a {type(values).__name__}"
        raise ArgumentError(
            f"produce({batch}) returned {said}; expected an ndarray of {batches.dtype} {batches.shapes[batch]}, as "
            "sizes and dtype say"
        )

    # ---- what is kept ------------------------------------------------------------------------------------------------

    def _keep(self, batch: int, values: Values, *, copied: bool = False) -> None:
        """Keep a batch in memory, where it shall be there and there is room."""
        own = self._own
        if own.places[self._position[batch]] != Place.IN_MEMORY or batch in own.memory:
            return
        if own.memory_bytes() + values.nbytes <= own.keep_bytes:
            own.memory[batch] = np.array(values, order="C") if copied else values  # `produce` may use its memory again

    def _write(self, batch: int, values: Values, seconds: float, *, copied: bool = False) -> None:
        """Write a batch behind the program, where there is room for it in the buffers."""
        own = self._own
        nbytes = own.nbytes(batch)
        if own.file is None or not own.may_write or nbytes == 0:
            return
        while self._writes and self._write_bytes + nbytes > own.buffer_bytes:
            if not own.waits_to_write:
                if self._online is not None:
                    self._online.not_written(nbytes)
                return  # it would make the iteration longer: the next one has time again
            self._collect_write()
        buffered = np.array(values, order="C") if copied else values
        self._write_bytes += nbytes
        self._writes.append((batch, seconds, self._background.submit(own.file.write, batch, buffered)))

    def _collect_writes(self) -> None:
        while self._writes and self._writes[0][2].done():
            self._collect_write()
        if self._probe is not None and self._probe.done():
            self._take_probe()

    def _collect_write(self) -> None:
        own = self._own
        batch, seconds, future = self._writes.popleft()
        self._write_bytes -= own.nbytes(batch)
        if future.cancelled():
            return
        try:
            written, checksum = future.result()
        except StoppedError:
            return
        except Error as error:
            if own.may_write:
                own.notes.append(f"nothing more is kept on disk because writing failed: {error}")
            own.may_write = False
            return
        own.stored[batch] = Kept(checksum, seconds)
        self.measured.count(batches_written=1, bytes_written=own.nbytes(batch), writing=written.seconds)
        self._begin_probe(batch)

    # ---- reads -------------------------------------------------------------------------------------------------------

    def _start_reads(self) -> None:
        own = self._own
        while self._to_read and own.file is not None:
            batch = self._to_read[0]
            nbytes = own.nbytes(batch)
            if self._reads and self._read_bytes + nbytes > own.buffer_bytes:
                return
            self._to_read.popleft()
            self._read_bytes += nbytes
            self._reads.append((batch, self._background.submit(own.file.read, batch, own.stored[batch].checksum)))

    def _begin_probe(self, batch: int) -> None:
        """Read back, from the disk, what was written first."""
        own = self._own
        if self._has_probed or self._is_over or own.file is None:
            return
        self._to_probe.append(batch)
        if sum(map(own.nbytes, self._to_probe)) >= PROBE_BYTES:
            self._has_probed = True
            checksums = {b: own.stored[b].checksum for b in self._to_probe}
            self._probe = self._background.submit(_probed, own.file, checksums)

    def _take_probe(self) -> None:
        if self._probe is None:
            return
        probe, self._probe = self._probe, None
        try:
            found = probe.result()
        except Error as error:
            self._own.notes.append(f"what reading takes could not be measured: {error}")
            return
        for batch, read in found:
            self.measured.add_read(self._own.nbytes(batch), read)
        if self._online is not None and self.measured.cold.nbytes > 0:
            seconds = sum(end - begin for begin, end in self.measured.cold.intervals)
            self._online.measured(seconds / self.measured.cold.nbytes)


def _probed(file: BatchFile, checksums: dict[int, int]) -> list[tuple[int, Transfer]]:
    """Return what reading batches takes when the page cache does not hold them."""
    file.sync()
    found = []
    for batch, checksum in checksums.items():
        file.forget_cached(batch)
        found.append((batch, file.read(batch, checksum)[1]))
    return found
