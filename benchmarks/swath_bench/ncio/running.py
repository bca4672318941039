"""The measurements on the ranks: cell after cell, contenders in turn; all data are checked."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from swath.errors import Error
from swath.ranks.ranks import Ranks
from swath.store.standalone import page_cache
from swath_bench.measure import (
    VALUE_BYTES,
    WrongDataError,
    check_equal,
    say,
    shuffled,
    stamped,
    timed_phases,
)
from swath_bench.ncio.cells import Asked, Outcome, contender_entry
from swath_bench.ncio.contenders import Contender, MpiContender, SwathContender, mpi_family, mpi_modes
from swath_bench.ncio.options import MEBIBYTE, MPI_PEER, UNCACHED, Cell, Options, cells_of
from swath_bench.ncio.pattern import GAP_STAMP, UNTOUCHED, Pattern, Values
from swath_bench.ncio.pool_file import AnyFile, PoolFile, file_under_test
from swath_bench.ncio.syncs import measure_syncs

INNER_SECONDS = 5e-3
"""Shorter operations are repeated within one repetition until they last this long, if a repeated one meets the same
state."""
INNER_STRETCH = 4
"""A slower contender repeats as often as the fastest, up to this many times as long: the first operations find the
processor's caches cold, and a slightly slower contender must not have a larger part of such operations."""
SETTLING_SECONDS = 50e-3
"""If an operation takes less, its second run is not counted, either: a repeated request takes another path than a new
one. To find the seconds of a repeated operation, the mean is taken over ..."""
SETTLING_OPERATIONS = 4
"""... this number of operations."""
ALWAYS_CHECKED_BYTES = 64 * MEBIBYTE
"""A larger file is compared with its image after the first and the last write of a contender only."""


def cells_path(path: str) -> str:
    """Return the path to which rank 0 writes each measured cell at once, as a line of JSON: a later one may fail."""
    return f"{path}.cells"


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Measure all cells of these ranks into `cells_path(path)`; return their common part."""
    bench = Bench(ranks, path, options)
    # Files are made anew for each pattern, so page cache and medium hold only the file of this one.
    for _, cells in itertools.groupby(cells_of(options, ranks.size), key=lambda cell: _file_key(cell.pattern)):
        bench.measure_file(list(cells))
    syncs = measure_syncs(ranks, path, options)
    return {"hints": bench.hints, "conditions": bench.conditions, "syncs": syncs}


def _file_key(pattern: Pattern) -> tuple[bool, int, int, int]:
    return pattern.file_spaced, pattern.count, pattern.region_bytes, pattern.file_bytes


@dataclasses.dataclass
class Turn:
    """A contender within one cell.

    Attributes:
        contender: None if it could not be set up.
        operation: moves the regions once.
        inner: number of operations in one repetition.
        repetitions: the counted ones.
        active: whether it is still measured here.
    """

    name: str
    family: str
    contender: Contender | None = None
    operation: Callable[[], object] = lambda: None
    predicted_seconds: float | None = None
    inner: int = 1
    repetitions: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    active: bool = True
    refused: str | None = None
    skipped: str | None = None


@dataclasses.dataclass
class Opened:
    """The contenders of one file; those that cannot take part, with the reason."""

    contenders: list[Contender]
    refused: dict[str, str]
    order: list[tuple[str, str]]
    """(name, family) of all, in the order in which they are recorded."""


class Bench:
    """All cells of one rank count."""

    def __init__(self, ranks: Ranks, path: str, options: Options) -> None:
        self.hints: dict[str, dict[str, str]] = {}
        self.conditions: dict[str, str] = {}
        self._ranks, self._options = ranks, options
        self._own_path, self._path = path, options.file_name(path)
        self._too_slow: dict[tuple[str, ...], str] = {}
        """The contenders that are no longer tried in this sweep, with the reason."""
        self._stamp = GAP_STAMP
        """The stamp of the file's regions. Every write brings the next one."""
        self._unchecked: dict[str, None] = {}
        """The contenders that have written since the whole file was checked."""
        self._unsynced = True
        self._progress = _Progress(ranks, options)
        if ranks.rank == 0:
            with open(cells_path(path), "w", encoding="utf-8"):
                pass

    def measure_file(self, cells: list[Cell]) -> None:
        """Collective. Measure the cells of one file, which is made for them and removed again."""
        pattern = cells[0].pattern
        file = file_under_test(self._ranks, self._own_path, pattern.file_bytes // VALUE_BYTES, self._options)
        try:
            with file.opened():
                file.fill(GAP_STAMP)
                self._stamp, self._unsynced = GAP_STAMP, True
                with self._opened(pattern) as opened:
                    for _, of_case in itertools.groupby(cells, key=lambda cell: cell.pattern.case):
                        self._measure_case(list(of_case), file, opened)
        finally:
            if self._ranks.rank == 0:
                file.remove()

    def _measure_case(self, cells: list[Cell], file: AnyFile, opened: Opened) -> None:
        memory = np.full(cells[0].pattern.memory_shape, UNTOUCHED, dtype=np.int64)
        for cell in cells:
            self._progress.begin(cell)
            self._keep(self.measure_cell(cell, file, opened, memory))

    @contextlib.contextmanager
    def _opened(self, pattern: Pattern) -> Iterator[Opened]:
        """Collective. Give all contenders with the file open."""
        opened = Opened([], {}, [])
        try:
            for method in self._options.methods:
                ours = SwathContender(method, self._ranks, self._path, pattern)
                opened.contenders.append(ours)
                opened.order.append((ours.name, ours.family))
                self.conditions = self.conditions or ours.conditions(pattern, "write")
            if MPI_PEER in self._options.peers:
                self._open_mpi(pattern, opened)
            yield opened
        finally:
            for contender in opened.contenders:
                contender.close()

    def _open_mpi(self, pattern: Pattern, opened: Opened) -> None:
        from mpi4py import MPI

        family = mpi_family()
        for mode, hints in mpi_modes(self._ranks.size).items():
            name = f"{family} {mode}"
            opened.order.append((name, family))
            make = functools.partial(MpiContender, mode, hints, MPI.COMM_WORLD, self._path, pattern)
            try:
                peer = self._ranks.run_collectively(f"open {name}", make)
            except Error as error:
                opened.refused[name] = str(error)
                continue
            opened.contenders.append(peer)
            self.hints.setdefault(name, peer.hints())

    def measure_cell(self, cell: Cell, file: AnyFile, opened: Opened, memory: Values) -> dict[str, Any]:
        """Collective. Run one uncounted operation of each, then the repetitions, contenders in turn."""
        by_name = {contender.name: contender for contender in opened.contenders}
        turns = [
            self._turn(cell, name, family, by_name.get(name), opened.refused.get(name), memory)
            for name, family in opened.order
        ]
        for turn in turns:
            if turn.active:
                self._warm_up(cell, file, turn, memory)
        most = max((turn.inner for turn in turns if turn.active), default=1)
        for turn in turns:
            if turn.inner > 1:
                turn.inner = min(most, turn.inner * INNER_STRETCH)
        for repetition in range(self._options.repetitions):
            for turn in shuffled(turns, repetition):
                if turn.active:
                    last = repetition == self._options.repetitions - 1
                    self._repeat(cell, file, turn, memory, check_file=last)
        return {**cell.to_dict(), "contenders": {turn.name: self._entry(cell, turn) for turn in turns}}

    def _turn(
        self, cell: Cell, name: str, family: str, contender: Contender | None, refused: str | None, memory: Values
    ) -> Turn:
        turn = Turn(name, family, contender, refused=refused, skipped=self._too_slow.get(_sweep_key(cell, name)))
        if contender is None or turn.skipped is not None:
            turn.active = False
            return turn

        def prepare() -> None:
            turn.operation = contender.operation(cell.pattern, cell.direction, memory)

        try:
            self._ranks.run_collectively(f"{name}: {cell.title}", prepare)
        except Error as error:
            turn.refused, turn.active = str(error), False
        return turn

    def _warm_up(self, cell: Cell, file: AnyFile, turn: Turn, memory: Values) -> None:
        """Run uncounted operations, which warm memory, file and device, and time one of them."""
        self._repeat(cell, file, turn, memory, check_file=True)
        # Several operations meet the same state as one only if each leaves the file unchanged.
        alike = cell.cache == UNCACHED or (
            cell.cache == "warm" and (cell.direction == "read" or not self._options.sync)
        )
        if turn.active and turn.repetitions[-1]["seconds"] < SETTLING_SECONDS:
            turn.inner = SETTLING_OPERATIONS if alike else 1
            self._repeat(cell, file, turn, memory, check_file=True)
            seconds = turn.repetitions[-1]["seconds"]
            turn.inner = math.ceil(INNER_SECONDS / seconds) if alike else 1
        if turn.active:
            turn.repetitions.clear()

    def _repeat(self, cell: Cell, file: AnyFile, turn: Turn, memory: Values, *, check_file: bool) -> None:
        """One repetition: pause, prepare, time, check."""
        contender = turn.contender
        assert contender is not None
        time.sleep(self._options.pause)
        cached = self._prepare(cell, file, memory)
        measured = self._time(cell, contender, turn)
        if turn.predicted_seconds is None:  # from the first operation: nothing is learned from this cell yet
            turn.predicted_seconds = contender.predicted_seconds()
        limit = self._options.limit_seconds
        if measured["seconds"] * turn.inner > limit:
            turn.active = False
            self._too_slow[_sweep_key(cell, turn.name)] = (
                f"took {measured['seconds']:.3g} s at region {cell.sweep} {cell.value}"
            )
        if cell.direction == "read":
            self._check_memory(cell, turn, memory)
        else:
            others = "".join(f" (or {name}, which wrote since the last check)" for name in self._unchecked)
            self._unchecked[turn.name] = None
            if check_file or not turn.active or file.bytes <= ALWAYS_CHECKED_BYTES:
                check_image(self._ranks, file, cell.pattern, self._stamp, _who(cell, turn.name) + others)
                self._unchecked.clear()
        turn.repetitions.append(
            {**measured, "cached_bytes_before": cached, "chosen": contender.chosen(), "dropped": False}
        )

    def _prepare(self, cell: Cell, file: AnyFile, memory: Values) -> int | None:
        """Fill memory, load the file into the page cache or drop it, and return its cached bytes."""
        memory.fill(UNTOUCHED)
        if cell.direction == "write":
            self._stamp += 1
            for begin, end in _pieces(cell.pattern):
                regions = cell.pattern.region_elements(self._ranks.rank, begin, end)
                memory[begin:end, : cell.pattern.units] = stamped(regions, self._stamp)
        if isinstance(file, PoolFile):
            cached = None
        elif cell.cache == "cold":
            cached = file.cool()
        else:
            if self._unsynced:  # else the kernel may write it back while the clock runs
                file.warm_up()
            cached = file.warm()
        self._unsynced = cell.direction == "write"
        return cached

    def _time(self, cell: Cell, contender: Contender, turn: Turn) -> dict[str, Any]:
        """Time operation and sync, from the first rank's start to the last rank's end; seconds of one operation."""
        phases = [turn.operation]
        if cell.direction == "write" and self._options.sync:
            phases.append(contender.sync)
        written_before = self._device_bytes_written()
        together = self._options.together
        times, device_read = timed_phases(self._ranks, *phases, repeats=turn.inner, together=together)
        written_after = self._device_bytes_written()
        if not together:  # one time, which lasts from the first operation's start to the last one's end
            begun, ended = times[0], times[-1]
            times = [[(start, *ends) for (start, *_), (_, *ends) in zip(begun, ended, strict=True)]]
        operation_seconds = sum(_seconds_to(1, of_ranks) for of_ranks in times) / turn.inner
        seconds = sum(_seconds_to(-1, of_ranks) for of_ranks in times) / turn.inner
        known = written_before is not None and written_after is not None
        written = (written_after or 0) - (written_before or 0) if known else None
        return {
            "seconds": seconds,
            "operation_seconds": operation_seconds,
            "sync_seconds": seconds - operation_seconds,
            "inner": turn.inner,
            "device_read_bytes": None if self._options.store else device_read,
            "device_written_bytes": written,
        }

    def _device_bytes_written(self) -> int | None:
        """Return the bytes that the device wrote, if it belongs to this machine."""
        return None if self._options.store else page_cache.device_bytes_written(self._path)

    def _check_memory(self, cell: Cell, turn: Turn, memory: Values) -> None:
        """Collective. Raise WrongDataError unless all regions were read, and nothing between them was changed."""
        pattern, rank, who = cell.pattern, self._ranks.rank, _who(cell, turn.name)

        def regions(begin: int, end: int) -> Values:
            return stamped(pattern.region_elements(rank, begin, end), self._stamp)

        def between(begin: int, end: int) -> Values:
            return np.full((end - begin, memory.shape[1] - pattern.units), UNTOUCHED, dtype=np.int64)

        check_equal(self._ranks, memory[:, : pattern.units], regions, who)
        if pattern.memory_noncontiguous:
            check_equal(self._ranks, memory[:, pattern.units :], between, f"{who}: between the regions in memory")

    def _entry(self, cell: Cell, turn: Turn) -> dict[str, Any]:
        asked = Asked(cell.direction, cell.pattern.bytes, self._options.sync, self._options.keep_extremes)
        outcome = Outcome(turn.repetitions, turn.refused, turn.skipped, turn.predicted_seconds)
        return contender_entry(turn.family, asked, outcome)

    def _keep(self, cell: dict[str, Any]) -> None:
        if self._ranks.rank == 0:
            with open(cells_path(self._own_path), "a", encoding="utf-8") as kept:
                kept.write(json.dumps(cell) + "\n")


def check_image(ranks: Ranks, file: AnyFile, pattern: Pattern, stamp: int, who: str) -> None:
    """Collective. Raise WrongDataError unless the whole file is right: new regions, old gaps, no byte more.

    Each rank checks an equal part of the rows.
    """
    size = file.stored_bytes()
    if size != pattern.file_bytes:
        raise WrongDataError(f"{who}: wrong data: the file has {size} bytes, not {pattern.file_bytes}")
    rows, width = pattern.file_shape
    first, last = (rows * part // ranks.size for part in (ranks.rank, ranks.rank + 1))
    found = file.stored(first * width, (last - first) * width).reshape(-1, width)
    where = f"{who}: rows {first} to {last} of the file"
    check_equal(ranks, found, lambda begin, end: pattern.file_image(first + begin, first + end, stamp), where)


def _seconds_to(mark: int, of_ranks: list[tuple[float, ...]]) -> float:
    """Return the seconds from the first rank's start to the last rank's `mark`."""
    return max(marks[mark] for marks in of_ranks) - min(marks[0] for marks in of_ranks)


def _pieces(pattern: Pattern) -> Iterator[tuple[int, int]]:
    step = max(1, MEBIBYTE // pattern.units)
    for begin in range(0, pattern.count, step):
        yield begin, min(begin + step, pattern.count)


def _sweep_key(cell: Cell, name: str) -> tuple[str, ...]:
    return cell.sweep, cell.pattern.case, cell.direction, cell.cache, name


def _who(cell: Cell, name: str) -> str:
    return f"{name}: {cell.title}"


class _Progress:
    """The progress, and the estimated time to the end."""

    def __init__(self, ranks: Ranks, options: Options) -> None:
        self._ranks, self._options = ranks, options
        self._cells = cells_of(options, ranks.size)
        self._expected = [self._expected_seconds(cell) for cell in self._cells]
        self._begun = 0
        self._start = time.monotonic()

    def begin(self, cell: Cell) -> None:
        """Print a line on standard error, on rank 0."""
        done, left = sum(self._expected[: self._begun]), sum(self._expected[self._begun :])
        passed = time.monotonic() - self._start
        told = f"about {_in_time(left * passed / done)} left" if done and passed > 1 else "the time left is not known"
        self._begun += 1
        say(self._ranks, f"ncio: cell {self._begun} of {len(self._cells)}, {told}: {cell.title}")

    def _expected_seconds(self, cell: Cell) -> float:
        """Only the ratio of two cells matters: the pause, each file's bytes, each region's requests."""
        o, p = self._options, cell.pattern
        contenders = len(o.methods) + (len(mpi_modes(1)) if MPI_PEER in o.peers else 0)
        once = o.pause + 5e-3 + 2e-9 * p.file_bytes + 1e-6 * p.count * p.ranks
        return contenders * (o.repetitions + 1) * once


def _in_time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
