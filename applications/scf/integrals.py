"""The source of a rank's batches of integrals in every iteration: the program takes one of five.

- `Records` (SCF 1.1 as the paper found it): computed and written once, in small records; read in every iteration.
- `Stored` (SCF 1.1 with an efficient interface): the same with one operation for a batch.
- `Prefetched` (SCF 1.1 with prefetching): the same, but a batch is read while the ones before it are used.
- `Recomputed` (direct SCF): computed again in every iteration; there is no file.
- `Balanced` (SCF 3.0): some are kept in memory or on disk, the others are computed while the kept ones are read.

Each is a context manager, and can be iterated over any number of times: pairs of a batch and its values. The values
are valid until the next pair.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from batches import Batch, Integrals, Molecule, compute
from record import CLOSE, FLUSH, INTEGRALS, OPEN, READ, WRITE, Event, Recorder

import swath

AHEAD = 2
"""Number of batches that are read ahead."""
RECORD_BYTES = 4 << 10
"""The bytes of a record of `Records`."""


@dataclasses.dataclass(frozen=True)
class Job:
    """The common arguments of all sources.

    Attributes:
        comm: an mpi4py communicator.
        molecule: a `pyscf.gto.Mole`.
        batches: all batches, the same on all ranks.
        folder: folder of the files of integrals, which are removed at the end.
        recorder: recorder of this rank.
        disk: for `Balanced`: "auto", the part of the bytes that is kept on disk, or bytes.
        memory: for `Balanced`: bytes that are kept in memory, or "auto".
    """

    comm: Any
    molecule: Molecule
    batches: list[Batch]
    folder: str
    recorder: Recorder
    disk: str | float | int = "auto"
    memory: str | int = 0

    @property
    def own_batches(self) -> list[Batch]:
        """Return the batches of this rank, which are dealt in turn."""
        return self.batches[self.comm.rank :: self.comm.size]

    def compute(self, batch: Batch) -> Integrals:
        """Compute a batch."""
        with self.recorder.timed(INTEGRALS, batch.elements * 8):
            return compute(self.molecule, batch)


class Source(Protocol):
    """A source of integrals, over which the program iterates."""

    @property
    def plan(self) -> Any:
        """The decision of `Balanced`; None for the others."""

    @property
    def iterations(self) -> Sequence[Any]:
        """The iterations of `Balanced` on this rank; empty for the others."""

    def __enter__(self) -> Source: ...
    def __exit__(self, *error: Any) -> None: ...
    def __iter__(self) -> Iterator[tuple[Batch, Integrals]]: ...


class Recomputed:
    """The integrals are computed again in every iteration; nothing is kept."""

    plan = None
    iterations = ()

    def __init__(self, job: Job) -> None:
        self._job = job

    def __enter__(self) -> Recomputed:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __iter__(self) -> Iterator[tuple[Batch, Integrals]]:
        for batch in self._job.own_batches:
            yield batch, self._job.compute(batch)


class Stored:
    """All batches are in a file of this rank, one after the other; only this rank reads it."""

    plan = None
    iterations = ()

    def __init__(self, job: Job) -> None:
        self._recorder, self._compute = job.recorder, job.compute
        self._batches = job.own_batches
        ends = np.cumsum([0, *(batch.elements for batch in self._batches)]).tolist()
        self._places = [slice(first, end) for first, end in itertools.pairwise(ends)]
        self._elements = ends[-1]
        self._path = os.path.join(job.folder, f"integrals.{job.comm.rank}.raw")
        self._array: swath.Array | None = None

    def __enter__(self) -> Stored:
        """Writes the file: the paper's write phase."""
        try:
            self._write()
            with self._recorder.timed(OPEN):
                self._array = swath.open(self._path, shape=self._elements, dtype=np.float64)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._array is not None:
            with self._recorder.timed(CLOSE):
                self._array.close()
        self._remove()

    def __iter__(self) -> Iterator[tuple[Batch, Integrals]]:
        memory = self._new_memory()
        for batch, place in zip(self._batches, self._places, strict=True):
            with self._recorder.timed(READ, batch.elements * 8):
                values = self._read(place, memory)
            yield batch, values.reshape(batch.shape)

    def _write(self) -> None:
        with self._recorder.timed(OPEN):
            array = swath.create(self._path, self._elements, np.float64)
        with array:
            for batch, place in zip(self._batches, self._places, strict=True):
                values = self._compute(batch)
                with self._recorder.timed(WRITE, values.nbytes):
                    array[place] = values.ravel()
            with self._recorder.timed(FLUSH):
                array.sync()
            begin = self._recorder.now
        self._recorder.add(CLOSE, begin)

    def _new_memory(self) -> Integrals:
        """Return new memory that is large enough for any batch."""
        return np.empty(max((batch.elements for batch in self._batches), default=0))

    def _read(self, place: slice, memory: Integrals) -> Integrals:
        assert self._array is not None
        values: Integrals = self._array.read(selection=place, out=memory[: place.stop - place.start])
        return values

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)


class Records(Stored):
    """Like `Stored`, but by calls of the operating system, each for a record of `RECORD_BYTES`."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._file = -1

    def __enter__(self) -> Records:
        """Writes the file, and opens it for reading."""
        try:
            self._write()
            with self._recorder.timed(OPEN):
                self._file = os.open(self._path, os.O_RDONLY)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._file >= 0:
            with self._recorder.timed(CLOSE):
                os.close(self._file)
        self._remove()

    def _write(self) -> None:
        with self._recorder.timed(OPEN):
            file = open(self._path, "wb", buffering=0)  # noqa: SIM115 - it is closed below
        with file:
            for batch in self._batches:
                values = self._compute(batch)
                with self._recorder.timed(WRITE, values.nbytes):
                    file.writelines(_records(values))  # a call for each
            with self._recorder.timed(FLUSH):
                os.fsync(file.fileno())
            begin = self._recorder.now
        self._recorder.add(CLOSE, begin)

    def _read(self, place: slice, memory: Integrals) -> Integrals:
        values = memory[: place.stop - place.start]
        offset = place.start * values.itemsize
        for record in _records(values):
            if os.preadv(self._file, [record], offset) != len(record):
                raise OSError(f"{self._path}: it ends within a record that begins at byte {offset}")
            offset += len(record)
        return values


def _records(values: Integrals) -> Iterator[memoryview]:
    """Yield the bytes of contiguous values, a record at a time."""
    content = memoryview(values.reshape(-1)).cast("B")
    for first in range(0, len(content), RECORD_BYTES):
        yield content[first : first + RECORD_BYTES]


class Prefetched(Stored):
    """Like `Stored`, but `AHEAD` batches are being read while one is used."""

    def __iter__(self) -> Iterator[tuple[Batch, Integrals]]:
        free = [self._new_memory() for _ in range(AHEAD + 1)]
        begun: deque[tuple[Batch, Integrals, swath.Future]] = deque()
        assert self._array is not None
        for batch, place in zip(self._batches, self._places, strict=True):
            memory = free.pop()
            out = memory[: batch.elements]
            begun.append((batch, memory, self._array.read_async(selection=place, out=out)))
            if len(begun) > AHEAD:
                yield self._next(begun, free)
        while begun:
            yield self._next(begun, free)

    def _next(
        self, begun: deque[tuple[Batch, Integrals, swath.Future]], free: list[Integrals]
    ) -> tuple[Batch, Integrals]:
        """Wait for the read that was started first. The next call frees its memory."""
        batch, memory, future = begun.popleft()
        with self._recorder.timed(READ, batch.elements * 8):
            values: Integrals = future.result()
        free.append(memory)
        return batch, values.reshape(batch.shape)


class Balanced:
    """`swath.Balanced` decides for each batch whether to keep or to compute it, to make an iteration shorter.

    `iterations` describes its reads and writes in the background. In the events, a batch that was not computed
    is a read, from disk or memory, with the seconds that the program waited for it.
    """

    def __init__(self, job: Job) -> None:
        self._job, self._recorder = job, job.recorder
        self._computed: set[int] = set()
        self._computing_seconds = 0.0
        self._kept: Any = None

    @property
    def plan(self) -> Any:
        """The decision of `swath.Balanced`."""
        return self._kept.plan

    @property
    def iterations(self) -> Sequence[Any]:
        """The iterations on this rank."""
        return tuple(self._kept.iterations)

    def __enter__(self) -> Balanced:
        job = self._job
        with self._recorder.timed(OPEN):
            self._kept = swath.Balanced(
                self._compute,
                [batch.shape for batch in job.batches],
                path=os.path.join(job.folder, "integrals"),
                disk=job.disk,
                memory=job.memory,
                comm=job.comm,
            ).__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        with self._recorder.timed(CLOSE):
            self._kept.__exit__(*error)

    def __iter__(self) -> Iterator[tuple[Batch, Integrals]]:
        self._computed.clear()
        begin, self._computing_seconds = self._recorder.now, 0.0
        for number, values in self._kept:
            if number not in self._computed:
                waited = max(0.0, self._recorder.now - begin - self._computing_seconds)
                self._recorder.events.append(Event(READ, begin, waited, values.nbytes))
            batch = self._job.batches[number]
            yield batch, values.reshape(batch.shape)
            begin, self._computing_seconds = self._recorder.now, 0.0

    def _compute(self, number: int) -> Integrals:
        begin = self._recorder.now
        values = self._job.compute(self._job.batches[number])
        self._computed.add(number)
        self._computing_seconds += self._recorder.now - begin
        return values


SOURCES: dict[str, Callable[[Job], Source]] = {
    "records": Records,
    "stored": Stored,
    "prefetched": Prefetched,
    "recomputed": Recomputed,
    "balanced": Balanced,
}
