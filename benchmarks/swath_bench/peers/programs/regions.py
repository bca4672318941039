"""Reads and writes of regions of a file, for `swath bench ncio`. It needs NumPy and `swath_bench.standalone`, no Swath.

The protocol is that of `swath_bench.ncio.running`: contenders take turns, in another order each time; one operation of
each is not counted. Before every operation there is a pause, memory is filled, the store is synced and loaded into the
page cache or dropped from it. A time runs from the first rank's start to the last one's end. Every byte is checked. A
program writes a line for each cell as soon as it is measured.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import answers
import numpy as np
import numpy.typing as npt
import page_cache

T = TypeVar("T")
Values = npt.NDArray[np.int64]

VALUE_DTYPE = "<i8"
VALUE_BYTES = 8
STAMP_SHIFT = 40
"""Element i of a store with stamp s holds i + s × 2^40: with a new stamp, every old value is wrong."""
GAP_STAMP = 0
UNTOUCHED = -1
INNER_SECONDS = 5e-3
SETTLING_SECONDS = 50e-3
ALWAYS_CHECKED_BYTES = 64 << 20
PIECE_BYTES = 64 << 20
CHUNK_BYTES = 4 << 20


class Ranks:
    """One process for all ranks; a program with MPI has its own."""

    rank = 0
    size = 1

    def barrier(self) -> None:
        """Collective."""

    def gather(self, mine: T) -> list[T]:
        """Collective: return the values of all processes. Early processes wait asleep."""
        return [mine]


@dataclasses.dataclass(frozen=True)
class Pattern:
    """The access pattern: regions as rows, of a file and of memory; see `swath_bench.ncio.pattern`.

    Attributes:
        file_shape: rows and elements of a row; the first `units` of a row are a region, the rest is spacing.
        memory_shape: the same of one rank's memory.
        units: elements of a region.
        row_starts: for each rank, the row of its region 0.
        row_step: rows from one of its regions to the next.
    """

    file_shape: tuple[int, int]
    memory_shape: tuple[int, int]
    units: int
    row_starts: tuple[int, ...]
    row_step: int

    @property
    def count(self) -> int:
        """Regions of a rank."""
        return self.memory_shape[0]

    @property
    def file_bytes(self) -> int:
        """Spacing included."""
        return self.file_shape[0] * self.file_shape[1] * VALUE_BYTES

    def rows(self, rank: int) -> slice:
        """Return the rows that are the regions of `rank`."""
        start = self.row_starts[rank]
        return slice(start, start + (self.count - 1) * self.row_step + 1, self.row_step)

    def regions(self, rank: int, stamp: int) -> Values:
        """Return the values of the regions of `rank`, one row each."""
        rows = np.arange(*self.rows(rank).indices(self.file_shape[0]), dtype=np.int64)
        return rows[:, None] * self.file_shape[1] + np.arange(self.units, dtype=np.int64) + (stamp << STAMP_SHIFT)

    def image(self, begin: int, end: int, stamp: int) -> Values:
        """Return rows [begin, end) of the file when all regions have `stamp`."""
        width = self.file_shape[1]
        image = np.arange(begin * width, end * width, dtype=np.int64).reshape(-1, width)
        image[:, : self.units] += stamp << STAMP_SHIFT
        return image

    def pieces(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield rows [begin, end) in small pieces."""
        step = max(1, PIECE_BYTES // (self.file_shape[1] * VALUE_BYTES))
        for first in range(begin, end, step):
            yield first, min(first + step, end)


class Store:
    """The store of the array of one pattern; several contenders may share one.

    Attributes:
        path: path of the file, or of the folder.
        stamp: stamp of the regions.
        unsynced: whether there were writes since the last sync.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.stamp = GAP_STAMP
        self.unsynced = True

    def create(self, pattern: Pattern) -> None:
        """By rank 0 alone: the store, with `pattern.image` of stamp 0."""
        raise NotImplementedError

    def rows(self, pattern: Pattern, begin: int, end: int) -> Values:
        """Return the present values of rows [begin, end)."""
        raise NotImplementedError

    def files(self) -> list[str]:
        """Return the paths of all its files."""
        found: list[str] = page_cache.files_of(self.path)
        return found

    def sync(self) -> None:
        """Sync the files and their folders, on rank 0 alone."""
        folders = [folder for folder, _, _ in os.walk(self.path)]
        for path in [*self.files(), *folders]:
            with page_cache.opened(path) as fd:
                os.fsync(fd)

    def remove(self) -> None:
        """By rank 0 alone."""
        if os.path.isdir(self.path):
            shutil.rmtree(self.path)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


class Contender:
    """One way of moving the regions.

    Attributes:
        name: name in tables.
        store: store of the regions.
        held: the ranks whose memory this process holds.
    """

    def __init__(self, name: str, store: Store, held: Sequence[int]) -> None:
        self.name = name
        self.store = store
        self.held = held

    def open(self, pattern: Pattern) -> None:
        """Open the store. Collective, before every operation, not timed; it may be open already."""

    def operation(self, pattern: Pattern, direction: str, memories: list[Values]) -> Callable[[], object]:
        """Return a function that moves the regions of the ranks in `held` between the store and their memories."""
        raise NotImplementedError

    def selections(self, pattern: Pattern, memories: list[Values]) -> list[tuple[tuple[slice, slice], Values]]:
        """Return each rank's regions: their selection in the array, and in its memory."""
        return [
            ((pattern.rows(rank), slice(pattern.units)), memory[:, : pattern.units])
            for rank, memory in zip(self.held, memories, strict=True)
        ]

    def sync(self) -> None:
        """Sync the writes to the medium. Collective, timed."""
        self.store.sync()

    def close(self) -> None:
        """Collective, before the store is removed; it may not be open."""

    def hints(self) -> dict[str, str]:
        """Return the hints in force, after `open`."""
        return {}


class CannotError(Exception):
    """A contender cannot do the operation, on any rank; the message has the reason."""


class WrongDataError(CannotError):
    """A contender moved wrong bytes."""


@dataclasses.dataclass
class Turn:
    """A contender within one cell."""

    contender: Contender
    operation: Callable[[], object] = lambda: None
    inner: int = 1
    repetitions: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    refused: str | None = None
    skipped: str | None = None

    @property
    def active(self) -> bool:
        """Whether the contender is still measured here."""
        return self.refused is None and self.skipped is None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "repetitions": [] if self.refused else self.repetitions,
            "refused": self.refused,
            "skipped": self.skipped if not self.repetitions else None,
        }


class Bench:
    """All cells of a request."""

    def __init__(self, ranks: Ranks, contenders: list[Contender], request: dict[str, Any]) -> None:
        self._ranks, self._contenders, self._request = ranks, contenders, request
        self._options = request["options"]
        self._stores = list({id(c.store): c.store for c in contenders}.values())
        self._too_slow: dict[tuple[str, ...], str] = {}
        self._hints: dict[str, dict[str, str]] = {}
        self._stamp = GAP_STAMP

    def run(self) -> None:
        """Collective: measure all, file after file."""
        for _, of_file in itertools.groupby(self._request["cells"], key=lambda cell: _file_key(cell["pattern"])):
            cells = list(of_file)
            self._create(_pattern(cells[0]))
            for cell in cells:
                told = {"index": cell["index"], "contenders": self._measure(cell), "hints": self._hints}
                if self._ranks.rank == 0:
                    answers.keep(self._request["kept"], told)
            for contender in self._contenders:
                contender.close()
            if self._ranks.rank == 0:
                for store in self._stores:
                    store.remove()
            self._ranks.barrier()

    def _create(self, pattern: Pattern) -> None:
        for store in self._stores:
            store.stamp, store.unsynced = GAP_STAMP, True
            if self._ranks.rank == 0:
                store.create(pattern)
        self._ranks.barrier()

    def _measure(self, cell: dict[str, Any]) -> dict[str, Any]:
        pattern = _pattern(cell)
        held = self._contenders[0].held
        memories = [np.full(pattern.memory_shape, UNTOUCHED, dtype=np.int64) for _ in held]
        turns = [Turn(c, skipped=self._too_slow.get(_sweep_key(cell, c.name))) for c in self._contenders]
        for turn in turns:
            if turn.active:
                self._warm_up(cell, pattern, turn, memories)
        for repetition in range(self._options["repetitions"]):
            for turn in random.Random(repetition).sample(turns, len(turns)):  # the same on all ranks
                if turn.active:
                    self._try(cell, pattern, turn, memories, repetition == self._options["repetitions"] - 1)
        return {turn.contender.name: turn.to_dict() for turn in turns}

    def _warm_up(self, cell: dict[str, Any], pattern: Pattern, turn: Turn, memories: list[Values]) -> None:
        """Run the uncounted operation, and find the number of operations in one repetition."""
        self._try(cell, pattern, turn, memories, True)
        alike = cell["cache"] == "warm" and (cell["direction"] == "read" or not self._options["sync"])
        if turn.active and alike and turn.repetitions[-1]["seconds"] < SETTLING_SECONDS:
            self._try(cell, pattern, turn, memories, True)
            if turn.active:
                turn.inner = math.ceil(INNER_SECONDS / turn.repetitions[-1]["seconds"])
        if turn.active:
            turn.repetitions.clear()

    def _try(self, cell: dict[str, Any], pattern: Pattern, turn: Turn, memories: list[Values], check: bool) -> None:
        """Run one repetition; a contender that cannot do it, or is too slow, is not tried again."""
        try:
            self._repeat(cell, pattern, turn, memories, check)
        except CannotError as error:  # the same on all ranks
            turn.refused = str(error)
            turn.contender.close()
        if turn.repetitions and turn.repetitions[-1]["seconds"] * turn.inner > self._options["limit_seconds"]:
            value = {"count": "region_count", "size": "region_bytes", "spacing": "spacing_bytes"}[cell["sweep"]]
            turn.skipped = f"took {turn.repetitions[-1]['seconds']:.3g} s at region {cell['sweep']} {cell[value]}"
            self._too_slow[_sweep_key(cell, turn.contender.name)] = turn.skipped

    def _repeat(self, cell: dict[str, Any], pattern: Pattern, turn: Turn, memories: list[Values], check: bool) -> None:
        contender, direction = turn.contender, cell["direction"]
        time.sleep(self._options["pause"])
        self._run_collectively(lambda: contender.open(pattern))  # before the cache is cold: opening reads
        self._hints[contender.name] = contender.hints()
        turn.operation = self._run_collectively(lambda: contender.operation(pattern, direction, memories))
        cached = self._prepare(cell, pattern, contender, memories)
        measured = self._time(direction, turn)
        if direction == "read":
            self._run_collectively(lambda: self._check_memories(pattern, contender, memories))
        elif check or pattern.file_bytes <= ALWAYS_CHECKED_BYTES:
            self._run_collectively(lambda: self._check_store(pattern, contender.store))
        turn.repetitions.append({**measured, "cached_bytes_before": cached, "dropped": False})

    def _prepare(
        self, cell: dict[str, Any], pattern: Pattern, contender: Contender, memories: list[Values]
    ) -> int | None:
        store, writes = contender.store, cell["direction"] == "write"
        if writes:
            self._stamp += 1
            store.stamp = self._stamp
        for rank, memory in zip(contender.held, memories, strict=True):
            memory.fill(UNTOUCHED)
            if writes:
                memory[:, : pattern.units] = pattern.regions(rank, store.stamp)
        cached = None
        if self._ranks.rank == 0:
            os.utime(self._request["kept"])  # a sign of life
            if store.unsynced:
                store.sync()
            cached = page_cache.prepare(store.files(), page_cache.drop if cell["cache"] == "cold" else None)
        store.unsynced = writes
        return self._ranks.gather(cached)[0]

    def _time(self, direction: str, turn: Turn) -> dict[str, Any]:
        """Return seconds of one operation, and of the sync after it."""
        operation, inner, sync = turn.operation, turn.inner, direction == "write" and self._options["sync"]
        folder = self._request["folder"]
        written_before = page_cache.device_bytes_written(folder)
        read_before = page_cache.device_bytes_read()
        failure = ""
        marks: list[tuple[float, float, float]] = []
        for number in range(inner):
            if number == 0 or self._options["together"]:
                self._ranks.barrier()  # a rank that failed takes part, too: the others wait for it
            if failure:
                continue
            start = moved = time.perf_counter()  # one clock for all processes of a machine
            try:
                operation()
                moved = time.perf_counter()
                if sync:
                    turn.contender.sync()
            except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
                failure = _reason(error)
            marks.append((start, moved, time.perf_counter() if sync else moved))
        told = self._ranks.gather((marks, failure))
        read_after = page_cache.device_bytes_read()
        device_read = self._ranks.gather(None if None in (read_before, read_after) else read_after - read_before)
        written_after = page_cache.device_bytes_written(folder)
        failures = [reason for _, reason in told if reason]
        if failures:
            raise CannotError(failures[0])
        times = list(zip(*(of_rank for of_rank, _ in told), strict=True))  # of each time, of each rank
        if not self._options[
            "together"
        ]:  # one time, which lasts from the first operation's start to the last one's end
            begun, ended = times[0], times[-1]
            times = [tuple((start, *ends) for (start, *_), (_, *ends) in zip(begun, ended, strict=True))]
        operation_seconds = sum(_seconds_to(1, of_ranks) for of_ranks in times) / inner
        seconds = sum(_seconds_to(2, of_ranks) for of_ranks in times) / inner
        return {
            "seconds": seconds,
            "operation_seconds": operation_seconds,
            "sync_seconds": seconds - operation_seconds,
            "inner": inner,
            "device_read_bytes": None if None in device_read else sum(device_read),
            "device_written_bytes": None if None in (written_before, written_after) else written_after - written_before,
        }

    def _run_collectively(self, work: Callable[[], T]) -> T:
        """Collective: raise CannotError on every rank if `work` fails on one."""
        failure, found = "", None
        try:
            found = work()
        except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
            failure = _reason(error)
        failures = [reason for reason in self._ranks.gather(failure) if reason]
        if failures:
            raise CannotError(failures[0])
        return found  # type: ignore[return-value]

    def _check_memories(self, pattern: Pattern, contender: Contender, memories: list[Values]) -> None:
        for rank, memory in zip(contender.held, memories, strict=True):
            expected = np.full(pattern.memory_shape, UNTOUCHED, dtype=np.int64)
            expected[:, : pattern.units] = pattern.regions(rank, contender.store.stamp)
            _check_equal(memory, expected, 0, f"memory of rank {rank}")

    def _check_store(self, pattern: Pattern, store: Store) -> None:
        """Each rank looks at its part of the rows."""
        rows = pattern.file_shape[0]
        first, last = (rows * part // self._ranks.size for part in (self._ranks.rank, self._ranks.rank + 1))
        for begin, end in pattern.pieces(first, last):
            _check_equal(store.rows(pattern, begin, end), pattern.image(begin, end, store.stamp), begin, "the store")


def measuring(
    contenders_of: Callable[[Ranks, dict[str, Any]], list[Contender]], ranks: Ranks | None = None
) -> Callable[[dict[str, Any]], None]:
    """Return the job: all cells of its request, by `contenders_of(ranks, request)`; without `ranks`, in one process."""
    own = ranks or Ranks()
    return lambda request: Bench(own, contenders_of(own, request), request).run()


def in_folders(
    request: dict[str, Any],
    library: str,
    folder: Callable[[str, bool], Store],
    contender: Callable[[str, Store, list[int]], Contender],
) -> list[Contender]:
    """Contenders of a library, each with a separate store: with the library's defaults, or tuned.

    Args:
        request: the names of the contenders; a name that ends with "defaults" uses the defaults.
        library: its name, for the stores' names.
        folder: the store in this folder, and whether with the defaults.
        contender: the contender of that name, store and ranks: one without MPI moves the bytes of all.
    """
    return [
        contender(
            name,
            folder(f"{request['folder']}/{library}-{number}", name.endswith("defaults")),
            list(range(request["ranks"])),
        )
        for number, name in enumerate(request["contenders"])
    ]


def chunks_of_rows(pattern: Pattern) -> tuple[int, int]:
    """Return the shape of chunks that are whole rows, about 4 MiB of them."""
    rows = CHUNK_BYTES // (pattern.file_shape[1] * VALUE_BYTES)
    return max(1, min(pattern.file_shape[0], rows)), pattern.file_shape[1]


def _pattern(cell: dict[str, Any]) -> Pattern:
    told = cell["pattern"]
    return Pattern(
        tuple(told["file_shape"]),
        tuple(told["memory_shape"]),
        told["units"],
        tuple(told["row_starts"]),
        told["row_step"],
    )


def _file_key(pattern: dict[str, Any]) -> tuple[Any, ...]:
    return pattern["file_shape"], pattern["units"], pattern["row_starts"], pattern["row_step"]


def _sweep_key(cell: dict[str, Any], name: str) -> tuple[str, ...]:
    return cell["sweep"], cell["case"], cell["direction"], cell["cache"], name


def _check_equal(found: Values, expected: Values, first_row: int, where: str) -> None:
    differs = found != expected
    if differs.any():
        row, column = (int(at) for at in np.argwhere(differs)[0])
        raise WrongDataError(
            f"wrong data in {where}: row {first_row + row}, element {column} is {int(found[row, column])}, not "
            f"{int(expected[row, column])} ({int(np.count_nonzero(differs))} wrong elements)"
        )


def _seconds_to(mark: int, of_ranks: tuple[tuple[float, ...], ...]) -> float:
    """Return the seconds from the first rank's start to the last rank's `mark`."""
    return max(marks[mark] for marks in of_ranks) - min(marks[0] for marks in of_ranks)


def _reason(error: Exception) -> str:
    """For people, one line."""
    return str(error) if isinstance(error, CannotError) else answers.reason(error)
