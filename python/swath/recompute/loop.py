"""One iteration over this rank's batches: the program computes while operations of the file run in the background.

A batch that was read goes to the program first, so that the next one can be read; if there is none, one is computed;
then come the batches in the page cache, and those in memory. So computing and reading never stop.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from swath import _core
from swath.errors import ArgumentError, Error
from swath.recompute.batch_file import UNKNOWN, Kept, UnderWay, Values
from swath.recompute.choice import Source
from swath.recompute.measured import Measured
from swath.recompute.online import Online
from swath.recompute.own import Own
from swath.recompute.prices import CACHED_MIN


class ProduceError(Exception):
    """Carries the error of `produce` for a batch out of the loop."""

    def __init__(self, batch: int, error: Exception) -> None:
        super().__init__()
        self.batch = batch
        self.error = error


class Loop(Iterator[tuple[int, Values]]):
    """An iteration; `finished` is called after the last batch, or with the exception that ends it.

    Args:
        own: the batches of this rank.
        online: decides in the first iteration which batches are kept.
        finished: a function of the loop's owner.
    """

    def __init__(self, own: Own, online: Online | None, finished: Callable[[BaseException | None], None]) -> None:
        self._own = own
        self._online = online
        self._finished = finished
        self._process = _core.fork_generation()
        self._position = {int(batch): position for position, batch in enumerate(own.mine)}
        self._to_read: deque[int] = deque()
        self._at_hand: deque[int] = deque()
        self._reads: deque[UnderWay] = deque()
        self._read_bytes = 0
        self._writes: deque[tuple[UnderWay, float]] = deque()
        self._write_bytes = 0
        self._given_at: float | None = None
        self._is_over = False
        self._why_over = ""
        self.measured = Measured(len(own.mine))
        self._plan()

    def _plan(self) -> None:
        own = self._own
        for batch in [b for b in own.memory if own.places[self._position[b]] == Source.COMPUTED]:
            own.forget(batch)
        places = {int(batch): Source(place) for batch, place in zip(own.mine, own.places, strict=True)}
        self._sequence = deque(places) if own.is_given_order else deque()
        self._first = deque(b for b in own.memory if places[b] != Source.IN_MEMORY)  # their memory is freed
        self._kept = deque(b for b in own.memory if places[b] == Source.IN_MEMORY)
        self._to_read.extend(b for b in places if own.is_to_be_read(b, places[b]))
        known = {*own.memory, *self._to_read}
        rest = [b for b in places if b not in known]
        # Batches that are written are computed first: the write runs while others are computed.
        self._to_compute = deque(sorted(rest, key=lambda b: places[b] != Source.ON_DISK))

    # ---- an iterator -------------------------------------------------------------------------------------------------

    def __next__(self) -> tuple[int, Values]:
        if self._why_over:
            raise ArgumentError(self._why_over)
        if self._is_over:
            raise StopIteration
        if self._given_at is not None:
            self.measured.using += time.monotonic() - self._given_at
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
        if "_why_over" in self.__dict__ and not sys.is_finalizing():
            self.stop()

    def stop(self, why: str = "") -> None:
        """Leave the loop: when this returns, nothing runs in the background. Writes are completed.

        `why`: the message for a later request of a batch.
        """
        if self._is_over:
            return
        self._is_over, self._why_over = True, why
        self._notice_fork()
        while self._reads:
            self._reads.pop().cancel()  # the latest first: it has not begun
        while self._writes:
            self._collect_write()
        self.measured.end()

    def _complete(self) -> None:
        """Wait for the writes."""
        begin = time.monotonic()
        while self._writes:
            self._collect_write()
        self._is_over = True
        self.measured.waiting_for_writes += time.monotonic() - begin
        self.measured.end(is_whole=True)

    def _notice_fork(self) -> None:
        """In a forked child nothing runs: repeat pending reads, and write nothing to the parent's file."""
        if self._process == _core.fork_generation():
            return
        self._process = _core.fork_generation()
        self._own.may_write = False
        for one in (*self._reads, *(write for write, _ in self._writes)):
            one.cancel()
        self._to_read.extendleft(one.batch for one in reversed(self._reads))
        self._reads.clear()
        self._writes.clear()
        self._read_bytes = self._write_bytes = 0

    # ---- which batch is next -----------------------------------------------------------------------------------------

    def _next(self) -> tuple[int, Values] | None:
        self._notice_fork()
        while self._writes and self._writes[0][0].is_done():
            self._collect_write()
        self._start_reads()
        if self._own.is_given_order:
            return self._given(self._sequence.popleft()) if self._sequence else None
        if self._first:
            return self._from_memory(self._first.popleft())
        if self._reads and self._reads[0].is_done():
            return self._read()
        if self._to_compute:
            return self._computed(self._to_compute.popleft())
        if self._at_hand:
            return self._read_at_once()
        if self._kept:
            return self._from_memory(self._kept.popleft())
        return self._read() if self._reads else None

    def _given(self, batch: int) -> tuple[int, Values]:
        if batch in self._own.memory:
            return self._from_memory(batch)
        if self._reads and self._reads[0].batch == batch:
            return self._read()
        if self._at_hand and self._at_hand[0] == batch:
            return self._read_at_once()
        return self._computed(batch)

    def _from_memory(self, batch: int) -> tuple[int, Values]:
        own = self._own
        values = own.memory[batch]
        self.measured.batches_from_memory += 1
        if own.places[self._position[batch]] == Source.ON_DISK:
            own.forget(batch)
            if batch not in own.stored:
                self._write(batch, values, own.seconds.get(batch, UNKNOWN))
        return batch, values

    def _computed(self, batch: int) -> tuple[int, Values]:
        own, position = self._own, self._position[batch]
        begin = time.monotonic()
        try:
            values = own.produce(batch)
            own.check(batch, values)
        except Exception as error:
            raise ProduceError(batch, error) from error
        seconds, waited = time.monotonic() - begin, self.measured.waiting_for_writes
        own.seconds[batch] = seconds
        if self._online is not None:
            own.places[position] = self._online.place(own.nbytes(batch), seconds, self.measured.using)
        place = own.places[position]
        if place == Source.IN_MEMORY:
            own.keep(batch, values)
        elif place == Source.ON_DISK and batch not in own.stored:
            self._write(batch, values, seconds)
        waited = self.measured.waiting_for_writes - waited
        self.measured.add_computed(position, own.nbytes(batch), seconds, time.monotonic() - begin - waited)
        return batch, values

    # ---- reads -------------------------------------------------------------------------------------------------------

    def _start_reads(self) -> None:
        own = self._own
        while self._to_read and own.file is not None:
            batch = self._to_read[0]
            nbytes = own.nbytes(batch)
            if self._reads and self._read_bytes + nbytes > own.buffer_bytes:
                return
            self._to_read.popleft()
            cached = own.file.cached(batch)
            self.measured.cached[self._position[batch]] = cached
            if cached >= CACHED_MIN:
                self._at_hand.append(batch)  # another thread would need more processor time
                continue
            self._read_bytes += nbytes
            self._reads.append(own.file.begin_read(batch, own.stored[batch].checksum, own.buffers.take(nbytes)))

    def _read(self) -> tuple[int, Values]:
        """Return the batch of the oldest read; if the read failed, compute it."""
        own, one = self._own, self._reads.popleft()
        self._read_bytes -= own.nbytes(one.batch)
        begin = time.monotonic()
        try:
            transfer = one.wait()
            own.checked(one.batch, one.memory)
        except Error as error:
            own.read_failed(one.batch, error)
            self.measured.wait_for_disk(time.monotonic() - begin)
            return self._computed(one.batch)
        self.measured.wait_for_disk(time.monotonic() - begin)
        self.measured.add_read(self._position[one.batch], own.nbytes(one.batch), transfer)
        return self._is_read(one.batch, one.memory)

    def _read_at_once(self) -> tuple[int, Values]:
        """Return a batch from the page cache; if the read fails, compute it."""
        own, batch = self._own, self._at_hand.popleft()
        assert own.file is not None
        memory = own.buffers.take(own.nbytes(batch))
        begin = time.monotonic()
        try:
            own.file.read(batch, memory)
            own.checked(batch, memory)
        except Error as error:
            own.read_failed(batch, error)
            return self._computed(batch)
        self.measured.add_read_at_once(own.nbytes(batch), begin, time.monotonic() - begin)
        return self._is_read(batch, memory)

    def _is_read(self, batch: int, memory: Values) -> tuple[int, Values]:
        own = self._own
        assert own.file is not None
        values = own.file.values(batch, memory)
        if own.places[self._position[batch]] == Source.IN_MEMORY:
            own.keep(batch, values)
        self._start_reads()
        return batch, values

    # ---- writes ------------------------------------------------------------------------------------------------------

    def _write(self, batch: int, values: Values, seconds: float) -> None:
        """Write a batch in the background, when there is space in the buffers."""
        own = self._own
        nbytes = own.nbytes(batch)
        if own.file is None or not own.may_write or nbytes == 0:
            return
        while self._writes and self._write_bytes + nbytes > own.buffer_bytes:
            if self._online is not None and not own.waits_to_write:
                self._online.not_written(nbytes)
                return  # it is not known yet whether this batch should be on disk
            begin = time.monotonic()
            self._collect_write()
            self.measured.waiting_for_writes += time.monotonic() - begin
        memory = own.buffers.take(nbytes)
        np.copyto(own.file.values(batch, memory), values)  # `produce` may use its memory again
        self._write_bytes += nbytes
        self._writes.append((own.file.begin_write(batch, memory), seconds))

    def _collect_write(self) -> None:
        own = self._own
        one, seconds = self._writes.popleft()
        nbytes = own.nbytes(one.batch)
        self._write_bytes -= nbytes
        try:
            transfer = one.wait()
        except Error as error:
            own.write_failed(error)
            return
        own.stored[one.batch] = Kept(one.checksum, seconds)
        self.measured.add_written(nbytes, transfer)
        if self._online is not None:
            self._online.measured(self.measured.written.seconds / self.measured.written.nbytes)
