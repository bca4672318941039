"""Measure what a store and this machine cost: the numbers of core/plan/profile.h, one after the other.

The page cache and the device behind it are never taken for each other. A number of the page cache counts only if the
whole file was in it before (cachestat) and no device was read meanwhile (/proc/self/io); a number of the device only if
nothing of the file was left in memory before, and the kernel says that a device gave the bytes. Where that cannot be
shown the numbers are not recorded: the device stays unknown, and `known` says why.

All seconds are medians of many short repetitions, with their spread (interquartile range by median). What is compared,
such as a jump with no jump, or one stream with four, takes turns within the same moment.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from swath import _core, opening, page_cache, profile
from swath.array import Array
from swath.bench.standalone import page_cache as kernel
from swath.errors import ArgumentError, StoreError, UnsupportedError, store_error

SIZES = (8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 512 << 10, 2 << 20, 4 << 20, 16 << 20)
"""Of requests, bytes; the windows of two-phase and of sieving are among them."""
REQUESTS_MAX = 1 << 17
WRITES_MAX = 1 << 14
"""Of one repetition that ends with a sync."""
MEMORY_SIZES = (256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
"""Of memory that an operation uses; the file must hold twice as much."""
STRAIGHT_REQUEST = 64 << 10
JUMP_SIZES = (8, 512, 4 << 10)
JUMP_GAP = 4 << 10
"""Bytes between two requests that do not follow each other: the widest spacing of the NCIO benchmark."""
RANDOM_STRIDE = 16 << 10
STREAM_REQUEST = 512 << 10
LIST_BATCH = 64
PIECES = 4096
PIECE_DISTANCE = 136
"""Of the memory that list I/O is measured with, bytes: no two pieces in one cache line."""
LINE_ELEMENTS = 16
"""Elements of 8 bytes from one used to the next: two cache lines, so that none is fetched for its neighbour."""
BLOCKS = (1, 4, 8, 16, 64, 512, 4 << 10)
BARRIER_RANKS = (1, 2, 4, 8)
LOOK_SIZES = (256 << 10, 512 << 10, 2 << 20, 4 << 20, 16 << 20)
LOOK_BYTES = 8 << 20
"""Of one repetition, as of one operation: the file is mapped once for it."""
WINDOW = 512 << 10
WINDOWS_A_SYNC = 4

CACHED_MIN = 0.999
UNCACHED_MAX = 0.01
DEVICE_MIN = 0.95
"""Of the bytes that were asked for, as the kernel counts what the device gave."""
TRIES = 3
REPETITIONS = 5
COLD_BYTES = 4 << 20
"""Whoever has touched so many has pushed this process's own data out of its core's caches."""
BRIEF_SECONDS = 1e-3
"""One repetition of what only this core does: shorter than a scheduler's slice, so that most are not interrupted."""
NOISY = 0.25
"""A spread beyond this is measured for longer, and noted."""
BUSY_LOAD = 0.5
"""Load average by core."""

Measure: TypeAlias = Callable[[], tuple[float, int]]
"""Seconds of one request, and the bytes of all that were made."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to take, and how large to be: seconds, bytes of the file, bytes of the memory that is copied to."""

    seconds: float
    file_bytes: int
    memory_bytes: int

    @property
    def room_bytes(self) -> int:
        """What must be free in the folder: nobody likes a full file system."""
        return 4 * self.file_bytes


FULL = Effort(25.0, 256 << 20, 64 << 20)
QUICK = Effort(4.0, 64 << 20, 16 << 20)


class NotReachedError(Exception):
    """A medium was not met, or it cannot be shown that it was."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """A median, and how far repetitions lay apart: interquartile range by median."""

    median: float
    spread: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Of at least one value."""
        median = statistics.median(values)
        low, high = np.percentile(values, (25, 75))
        return cls(median, float((high - low) / median) if median > 0 else 0.0)


def calibrate(
    folder: str,
    effort: Effort = FULL,
    *,
    evict: Callable[[str], None] = page_cache.evict,
    report: Callable[[str, float], None] = lambda step, done: None,
) -> profile.StoredProfile:
    """Measure the store that holds `folder`; the profile is returned, not kept.

    Args:
        folder: a writable folder with room for `effort.room_bytes`; what is made there is removed again.
        effort: `FULL`, half a minute, or `QUICK`, a few seconds.
        evict: makes the kernel forget a file; tests give one that does not.
        report: is told each step as it begins, and the part of the work that is done, 0 to 1.

    Raises:
        ArgumentError: no folder, or one without room.
        StoreError: it cannot be written to.
    """
    load = os.getloadavg()[0]
    with _scratch(folder, effort) as path:
        measuring = _Measuring(path, effort, evict, report)
        if load > BUSY_LOAD * measuring.cores:
            measuring.notes.append(
                f"the machine was busy (load average {load:.1f} on {measuring.cores} cores): the numbers may be off"
            )
        measuring.measure()
    store = profile.store_of(folder)
    date = dt.datetime.now().astimezone().isoformat(timespec="seconds")
    measuring.numbers["source"] = f"measured on {store.file_system} at {store.mount_point}, {date[:16]}"
    return profile.StoredProfile(
        file=profile.file_of(store),
        store=store,
        machine=profile.machine(),
        kernel=f"{platform.system()} {platform.release()}",
        date=date,
        numbers=measuring.numbers,
        known=measuring.known,
        spread=measuring.spread,
        notes=measuring.notes,
    )


@contextlib.contextmanager
def _scratch(folder: str, effort: Effort) -> Iterator[str]:
    """The path of a file to measure with, in a folder that goes away, whatever happens."""
    if not os.path.isdir(folder):
        raise ArgumentError(f"calibrate {folder}: it is no folder; expected one on the store that is to be measured")
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free < effort.room_bytes:
        raise ArgumentError(
            f"calibrate {folder}: {free >> 20:,} MiB are free, {effort.room_bytes >> 20:,} MiB are needed; "
            "free some room there, or try --quick, which needs a quarter"
        )
    try:
        scratch = tempfile.mkdtemp(prefix=".swath-calibrate-", dir=folder)
    except OSError as error:
        raise store_error(f"calibrate {folder}: cannot write there: {error.strerror}", error.errno) from None
    try:
        yield os.path.join(scratch, "measured.bin")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _slowdowns(samples: Sequence[Sample]) -> list[Sample]:
    """Of one, two, ... at once: how many times longer each takes than one alone."""
    return [Sample(max(1.0, sample.median / samples[0].median), sample.spread) for sample in samples]


def _seconds_of(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class _Measuring:
    """The numbers so far, and the file that they are measured with."""

    def __init__(
        self,
        path: str,
        effort: Effort,
        evict: Callable[[str], None],
        report: Callable[[str, float], None],
    ) -> None:
        self.path = path
        self.effort = effort
        self.cores = len(os.sched_getaffinity(0))
        self.numbers = _core.default_profile().to_dict()
        self.numbers["cores"] = float(self.cores)
        self.known: dict[str, str] = {}
        self.spread: dict[str, Any] = {}
        self.notes: list[str] = []
        self._evict = evict
        self._report = report
        self._file_bytes = 0
        self._cursor = 0
        self._device_part = 1.0  # the least part of what was asked for that came from the device
        self._refused: set[str] = set()
        self._deadline = time.monotonic() + 2 * effort.seconds

    def measure(self) -> None:
        """Everything; each step has its share of the seconds."""
        steps: tuple[tuple[str, float, str, Callable[[float], None]], ...] = (
            ("a file to measure with", 0.08, "", self._make_file),
            ("page cache: reads", 0.08, "cache", lambda seconds: self._cache_requests("read", seconds)),
            ("page cache: writes", 0.08, "cache", lambda seconds: self._cache_requests("write", seconds)),
            ("page cache: looking", 0.03, "cache", self._looks),
            ("page cache: jumps", 0.04, "cache", self._cache_jumps),
            ("page cache: streams", 0.06, "cache", lambda seconds: self._streams("cache", seconds)),
            ("locks and pieces", 0.03, "cache", self._locks_and_pieces),
            ("large memory", 0.05, "cache", self._memory),
            ("one small operation", 0.03, "", self._operation),
            ("syncs", 0.05, "", self._syncs),
            ("device: reads", 0.12, "device", self._device_reads),
            ("device: jumps", 0.06, "device", self._device_jumps),
            ("device: writes", 0.08, "device", self._device_writes),
            ("device: streams", 0.08, "device", lambda seconds: self._streams("device", seconds)),
            ("copies", 0.09, "", self._copies),
            ("meetings of ranks", 0.04, "", self._meetings),
        )
        done = 0.0
        for label, share, medium, step in steps:
            self._report(label, done)
            done += share
            if medium not in self._refused:
                try:
                    step(share * self.effort.seconds)
                except NotReachedError as reason:
                    self._refuse(medium, str(reason))
        self._report("done", 1.0)
        self._say_how_known()

    # ---- the file ----------------------------------------------------------------------------------------------------

    def _make_file(self, seconds: float) -> None:
        """As large as the store can make it in twice the time, and not less than an eighth of what was wanted."""
        with open(self.path, "xb"):
            pass
        self._engine, _ = _core.open_engine(self.path, "r+")
        # By the window: Linux keeps what larger writes make in folios so large that a later small write to one is slow.
        begin = time.monotonic()
        while self._file_bytes < self.effort.file_bytes:
            self._request(True, WINDOW, self._file_bytes, WINDOW, WINDOWS_A_SYNC, sync=True)
            self._file_bytes += WINDOW * WINDOWS_A_SYNC
            slow = time.monotonic() - begin > 2 * seconds
            if slow and self._file_bytes >= self.effort.file_bytes // 8:
                self.notes.append(f"a slow store: measured with a file of {self._file_bytes >> 20} MiB only")
                break

    def _request(self, write: bool, size: int, first: int, stride: int, count: int, **how: Any) -> tuple[float, int]:
        seconds_max = how.pop("seconds_max", 60.0)
        return _core.time_requests(self._engine, write, size, first, stride, count, seconds_max=seconds_max, **how)

    def _one(
        self, write: bool, size: int, seconds_max: float, *, stride: int = 0, batch: int = 1, shuffled: bool = False
    ) -> tuple[float, int]:
        """Seconds of one request, and the bytes of all: a stretch of the file, behind the one before."""
        stride = stride or size
        if shuffled or self._cursor + stride * batch > self._file_bytes:
            self._cursor = 0
        first = self._cursor // stride * stride
        count = min((self._file_bytes - first) // stride, REQUESTS_MAX)
        seconds, made = self._request(
            write, size, first, stride, count, batch=batch, shuffled=shuffled, seconds_max=seconds_max
        )
        self._cursor = first + made * stride
        return seconds / made, made * size

    # ---- repetitions -------------------------------------------------------------------------------------------------

    def _in_turn(self, runs: Sequence[Callable[[], float]], seconds: float) -> list[Sample]:
        """The runs in turn, again and again; for half as long again where they lie far apart."""
        values: list[list[float]] = [[] for _ in runs]
        begin = time.monotonic()
        while True:
            for run, seen in zip(runs, values, strict=True):
                seen.append(run())
            now = time.monotonic()
            samples = [Sample.of(seen) for seen in values]
            rounds = len(values[0])
            if rounds >= REPETITIONS and now - begin >= seconds:
                calm = all(sample.spread <= NOISY for sample in samples)
                if calm or now - begin >= 1.5 * seconds:
                    return samples
            # The median of two would be their mean, which one interruption can make anything.
            if rounds >= 3 and (now - begin >= 3 * seconds or now > self._deadline):
                return samples

    def _set(self, name: str, value: float, spread: float) -> None:
        self.numbers[name] = value
        self.spread[name] = round(spread, 3)

    def _set_curve(self, name: str, places: Sequence[float], samples: Sequence[Sample]) -> None:
        self.numbers[name] = [[float(x), sample.median] for x, sample in zip(places, samples, strict=True)]
        self.spread[name] = [round(sample.spread, 3) for sample in samples]

    # ---- which medium was met ----------------------------------------------------------------------------------------

    def _refuse(self, medium: str, reason: str) -> None:
        """What was measured of a medium so far does not count."""
        self._refused.add(medium)
        default = _core.default_profile().to_dict()
        for name in [name for name in self.numbers if name.startswith(f"{medium}.")]:
            unknown: Any = [] if isinstance(self.numbers[name], list) else 0.0
            self.numbers[name] = default[name] if medium == "cache" else unknown
            self.spread.pop(name, None)
        if medium == "cache":
            self.known["cache"] = f"not measured, stated defaults: {reason}"
        else:
            self.known["device"] = f"unknown, no number is claimed: {reason}"

    def _cached_fraction(self) -> float:
        with open(self.path, "rb") as file:
            cached = kernel.cached_bytes(file.fileno(), self._file_bytes)
        return page_cache.cached_fraction(self.path) if cached is None else cached / self._file_bytes

    def _warm(self, measure: Measure, *, synced: bool = False) -> float:
        """The seconds of `measure`, while all of the file is in the page cache and no device is read."""
        for _ in range(TRIES):
            if synced:
                self._engine.sync()
            cached = self._cached_fraction()
            if cached < CACHED_MIN:
                self._request(False, WINDOW, 0, WINDOW, self._file_bytes // WINDOW)
                cached = self._cached_fraction()
            before = kernel.device_bytes_read()
            seconds, _ = measure()
            read = (kernel.device_bytes_read() or 0) - (before or 0)
            if cached >= CACHED_MIN and read == 0:
                return seconds
        raise NotReachedError(
            f"{cached:.0%} of the file was in the page cache, and {read:,} bytes came from a device meanwhile"
        )

    def _cold(self, measure: Measure, *, reads: bool = True) -> float:
        """The seconds of `measure`, where nothing of the file was in memory and what it reads comes from the device."""
        for attempt in range(TRIES):
            self._evict(self.path)
            cached = self._cached_fraction()
            if cached <= UNCACHED_MAX:
                break
            time.sleep(0.02 * (attempt + 1))  # pages on their way to the device stay
        else:
            raise NotReachedError(
                f"{cached:.0%} of the file stayed in the page cache when the kernel was asked to forget it "
                f"({profile.store_of(self.path).file_system} may keep its files in memory); what was read then is a "
                "copy from memory, not the device"
            )
        before = kernel.device_bytes_read()
        seconds, size = measure()
        after = kernel.device_bytes_read()
        if before is None or after is None:
            raise NotReachedError("the kernel does not tell what it read from a device (/proc/self/io)")
        if reads:
            part = (after - before) / size
            if part < DEVICE_MIN:
                raise NotReachedError(
                    f"of {size:,} bytes read the kernel took {after - before:,} from a device: the rest came from "
                    "memory, or over a way that it does not count"
                )
            self._device_part = min(self._device_part, part)
        return seconds

    def _say_how_known(self) -> None:
        told = "no device read meanwhile (/proc/self/io)"
        if kernel.device_bytes_read() is None:
            told = "the kernel does not tell whether a device was read meanwhile"
        self.known.setdefault(
            "cache", f"the whole file was in the page cache before each repetition (cachestat), and {told}"
        )
        self.known.setdefault(
            "device",
            "the file was forgotten before each repetition (fsync, posix_fadvise; at most "
            f"{UNCACHED_MAX:.0%} left, cachestat), and of each read at least {min(self._device_part, 1.0):.0%} came "
            "from the device (/proc/self/io); writes end with fsync, which is counted in",
        )
        self.known["syncs"] = "fsync of a file whose dirty pages are known, as the kernel reports its end"
        self.known["copies"] = "our own copy kernels, blocks of every second place, memory larger than the caches"
        self.known.setdefault("barrier", "ranks of one node, as threads that share memory")
        self.known["messages"] = "stated defaults: between nodes, which one machine cannot measure"
        noisy = [name for name, spread in self.spread.items() if np.max(spread) > NOISY]
        if noisy:
            self.notes.append(f"repetitions lay more than {NOISY:.0%} apart: {', '.join(noisy)}")

    # ---- the page cache ----------------------------------------------------------------------------------------------

    def _sizes(self) -> list[int]:
        return [size for size in SIZES if size <= self._file_bytes // 2]

    def _cache_requests(self, direction: str, seconds: float) -> None:
        write, sizes = direction == "write", self._sizes()
        share = seconds / len(sizes)
        samples = []
        for size in sizes:
            stretch = partial(self._one, write, size, BRIEF_SECONDS)
            samples += self._in_turn([partial(self._warm, stretch, synced=write)], share)
        self._set_curve(f"cache.{direction}", sizes, samples)

    def _looks(self, seconds: float) -> None:
        """Of a window that is looked at instead of read."""
        sizes = [size for size in LOOK_SIZES if size <= self._file_bytes // 2]

        def timed(size: int) -> tuple[float, int]:
            count = max(LOOK_BYTES // size, 1)
            if self._cursor + size * count > self._file_bytes:
                self._cursor = 0
            first = self._cursor
            self._cursor += size * count
            return _core.time_looks(self._engine, size, first, count), size * count

        runs = [partial(self._warm, partial(timed, size)) for size in sizes]
        self._set_curve("look", sizes, self._in_turn(runs, seconds))

    def _cache_jumps(self, seconds: float) -> None:
        share = seconds / 3 / len(JUMP_SIZES)
        for name, write, batch in (
            ("read_jump", False, 1),
            ("write_jump", True, 1),
            ("read_jump_batched", False, LIST_BATCH),
        ):
            extra, spread = [], 0.0
            for size in JUMP_SIZES:
                in_line = partial(self._one, write, size, BRIEF_SECONDS)
                jumping = partial(in_line, stride=JUMP_GAP + size, batch=batch)
                without, having = self._in_turn(
                    [partial(self._warm, in_line, synced=write), partial(self._warm, jumping, synced=write)], share
                )
                extra.append(max(0.0, having.median - without.median))
                spread = max(spread, having.spread)
            self._set(f"cache.{name}", statistics.median(extra), spread)

    def _streams(self, medium: str, seconds: float) -> None:
        """How much longer each of several streams takes, each in its own part of the file."""
        part_min = 4 * STREAM_REQUEST
        candidates = sorted({1, 2, self.cores, 2 * self.cores})
        numbers = [n for n in candidates if n <= 2 or n * part_min <= self._file_bytes]
        part = self._file_bytes // numbers[-1]
        request = min(STREAM_REQUEST, part)
        for direction in ("read", "write"):
            write = direction == "write"

            def timed(streams: int, write: bool = write) -> tuple[float, int]:
                one, made = _core.time_streams(
                    self.path,
                    write,
                    request,
                    part // request,
                    sync=write and medium == "device",
                    streams=streams,
                    distance=part,
                    seconds_max=seconds / 8,
                )
                return one * streams / made, made * request

            met = partial(self._warm, synced=write) if medium == "cache" else partial(self._cold, reads=not write)
            samples = self._in_turn([partial(met, partial(timed, n)) for n in numbers], seconds / 2)
            self._set_curve(f"{medium}.{direction}_slowdown", numbers, _slowdowns(samples))

    def _locks_and_pieces(self, seconds: float) -> None:
        locks = self._in_turn([lambda: _core.time_locks(self._engine, WINDOW, 100)], seconds / 4)[0]
        self._set("lock_seconds", locks.median, locks.spread)
        # By the methods themselves, so that what our own part costs is in it.
        memory = np.ones((PIECES, PIECE_DISTANCE // 8), dtype=np.int64)
        packed = np.ones(PIECES, dtype=np.int64)
        with opening.open(self.path, shape=self._file_bytes // 8, dtype=np.int64, mode="r+") as opened:

            def read(method: str, values: Any) -> float:
                return _seconds_of(lambda: opened.read(selection=np.s_[:PIECES], method=method, out=values))

            def write(method: str, values: Any) -> float:
                return _seconds_of(lambda: opened.write(values, selection=np.s_[:PIECES], method=method))

            for name, move in (("read", read), ("write", write)):
                runs = [partial(move, "direct", packed), partial(move, "list", memory[:, 0])]
                one, many = self._in_turn(runs, seconds / 3)
                self._set(f"{name}_piece_seconds", max(0.0, many.median - one.median) / PIECES, many.spread)

    def _memory(self, seconds: float) -> None:
        """What memory costs that does not stay in the processor's cache."""
        sizes = [size for size in MEMORY_SIZES if size <= min(self._file_bytes // 2, 4 * self.effort.memory_bytes)]
        share = seconds / len(sizes) / 4
        for name, write in (("memory_byte_store", False), ("memory_byte_load", True)):
            self._set_curve(name, sizes, [self._straight(write, size, share) for size in sizes])
        with opening.open(self.path, shape=self._file_bytes // 8, dtype=np.int64, mode="r+") as opened:
            for name, write in (("memory_line_store", False), ("memory_line_load", True)):
                self._set_curve(name, sizes, [self._lines(opened, write, size, share) for size in sizes])

    def _straight(self, write: bool, size: int, seconds: float) -> Sample:
        """Of one byte: requests that walk over memory of this size, less the same with one small piece of it."""

        def walk(memory_bytes: int) -> float:
            # Twice: the first time the memory is new.
            requests = (STRAIGHT_REQUEST, 0, STRAIGHT_REQUEST, 2 * size // STRAIGHT_REQUEST)
            return self._request(write, *requests, memory_bytes=memory_bytes)[0] / 2

        small, large = self._in_turn([partial(walk, 0), partial(walk, size)], seconds)
        return self._more(large, small, size)

    def _lines(self, opened: Array, write: bool, size: int, seconds: float) -> Sample:
        """Of one line: the same elements of the file from or to every second line of this memory, less packed ones."""
        # Not zeros: memory that nobody has touched yet is made by the kernel as it is written, 100 times as slow.
        memory = np.ones((size // 8 // LINE_ELEMENTS, LINE_ELEMENTS), dtype=np.int64)
        sparse, packed = memory[:, 0], np.ones(len(memory), dtype=np.int64)
        elements, tuning = np.s_[: len(memory)], {"sieve_bytes": WINDOW}

        def timed(values: Any) -> float:
            if write:
                return _seconds_of(lambda: opened.write(values, selection=elements, method="sieve", tuning=tuning))
            return _seconds_of(lambda: opened.read(out=values, selection=elements, method="sieve", tuning=tuning))

        one, many = self._in_turn([partial(timed, packed), partial(timed, sparse)], seconds)
        return self._more(many, one, len(memory) * (1 - 8 / 64))

    @staticmethod
    def _more(sample: Sample, base: Sample, by: float) -> Sample:
        """What the one costs more than the other, each of `by` parts; a curve has no zeros."""
        return Sample(max(1e-13, (sample.median - base.median) / by), sample.spread)

    def _operation(self, seconds: float) -> None:
        """An 8-byte read from an open array, less the pread in it."""
        path = os.path.join(os.path.dirname(self.path), "operation.npy")
        np.save(path, np.zeros(8))
        calls = 20
        with opening.open(path) as opened, open(path, "rb") as plain:

            def operations() -> float:
                begin = time.perf_counter()
                for _ in range(calls):
                    opened.read(selection=np.s_[:1], method="direct")
                return (time.perf_counter() - begin) / calls

            def preads() -> float:
                begin = time.perf_counter()
                for _ in range(calls):
                    os.pread(plain.fileno(), 8, 128)
                return (time.perf_counter() - begin) / calls

            operation, pread = self._in_turn([operations, preads], seconds / 2)
        self._set("operation_seconds", max(0.0, operation.median - pread.median), operation.spread)
        values, others = np.zeros(1), np.ones(COLD_BYTES // 8)
        with opening.open(path, mode="r+") as opened:

            def late_operation() -> float:
                opened.sync()
                others.sum()  # what the program does between: the caches are its own
                return _seconds_of(lambda: opened.write(values, selection=np.s_[:1], method="direct"))

            late = self._in_turn([late_operation], seconds / 2)[0]
        self._set("late_operation_seconds", max(0.0, late.median - pread.median), late.spread)

    # ---- syncs and the device ----------------------------------------------------------------------------------------

    def _syncs(self, seconds: float) -> None:
        """The fixed part, and what each further byte adds, over a few sizes."""
        piece = 1 << 20
        sizes = [size for size in (0, 1 << 20, 4 << 20, 16 << 20) if size <= self._file_bytes // 2]

        def run(size: int) -> float:
            self._engine.sync()
            if size:
                self._request(True, piece, 0, piece, size // piece)
            else:
                self._request(True, 8, 0, 8, 1)
            begin = time.perf_counter()
            self._engine.sync()
            return time.perf_counter() - begin

        fixed, *more = self._in_turn([partial(run, size) for size in sizes], seconds)
        self._set("sync_seconds", fixed.median, fixed.spread)
        if more:
            longer = sum(sample.median - fixed.median for sample in more)
            self._set("sync_byte_seconds", max(0.0, longer) / sum(sizes), max(sample.spread for sample in more))

    def _device_reads(self, seconds: float) -> None:
        sizes = self._sizes()
        share = seconds / len(sizes)
        samples = []
        for size in sizes:
            samples += self._in_turn([partial(self._cold, partial(self._one, False, size, share / 4))], share)
        self._set_curve("device.read", sizes, samples)

    def _device_jumps(self, seconds: float) -> None:
        page = 4 << 10
        for name, batch in (("read_jump", 1), ("read_jump_batched", LIST_BATCH)):
            scattered = partial(self._one, False, page, seconds / 12, stride=RANDOM_STRIDE, batch=batch, shuffled=True)
            sample = self._in_turn([partial(self._cold, scattered)], seconds / 2)[0]
            self._set(f"device.{name}", max(0.0, sample.median - self._at("device.read", page)), sample.spread)

    def _device_writes(self, seconds: float) -> None:
        """Of a file that is not cached, with one sync at the end, less the fixed part of that sync."""
        sizes = self._sizes()
        share = seconds / (len(sizes) + 1)

        def written(size: int, stride: int, shuffled: bool) -> tuple[float, int]:
            count = min(self._file_bytes // stride, WRITES_MAX)
            timed, made = self._request(
                True, size, 0, stride, count, shuffled=shuffled, sync=True, seconds_max=share / 6
            )
            return max(timed - self.numbers["sync_seconds"], 0.1 * timed) / made, made * size

        def sample(size: int, stride: int, *, shuffled: bool) -> Sample:
            return self._in_turn([partial(self._cold, partial(written, size, stride, shuffled), reads=False)], share)[0]

        self._set_curve("device.write", sizes, [sample(size, size, shuffled=False) for size in sizes])
        jumping = sample(64, RANDOM_STRIDE, shuffled=True)
        self._set("device.write_jump", max(0.0, jumping.median - self._at("device.write", 64)), jumping.spread)

    def _at(self, curve: str, x: float) -> float:
        points = np.array(self.numbers[curve])
        return float(np.interp(x, points[:, 0], points[:, 1]))

    # ---- this machine ------------------------------------------------------------------------------------------------

    def _copies(self, seconds: float) -> None:
        share = seconds / 5
        memory = self.effort.memory_bytes
        for name, gather, exchange in (
            ("gather", True, False),
            ("scatter", False, False),
            ("exchange_gather", True, True),
            ("exchange_scatter", False, True),
        ):
            samples = [
                Sample.of(_core.time_copies(gather, exchange, block, WINDOW, memory, share / len(BLOCKS)))
                for block in BLOCKS
            ]
            self._set_curve(name, BLOCKS, samples)
        numbers = sorted({1, 2, self.cores, 2 * self.cores})
        memory = max(WINDOW, min(memory, (512 << 20) // numbers[-1]) // WINDOW * WINDOW)
        samples = self._in_turn(
            [partial(_core.time_copies_at_once, 8, WINDOW, memory, n, share / 40) for n in numbers], share
        )
        self._set_curve("copy_slowdown", numbers, _slowdowns(samples))

    def _meetings(self, seconds: float) -> None:
        share = seconds / (2 * len(BARRIER_RANKS) + 1)
        visits = Sample.of(_core.time_visits(share))
        self._set("visit_seconds", visits.median, visits.spread)
        try:
            barriers = [Sample.of(_core.time_barriers(ranks, share)) for ranks in BARRIER_RANKS]
            rounds = [Sample.of(_core.time_rounds(ranks, share)) for ranks in BARRIER_RANKS]
        except (UnsupportedError, StoreError) as error:
            self.known["barrier"] = f"not measured, stated defaults: {error}"
            return
        self._set_curve("barrier", BARRIER_RANKS, barriers)
        self._set_curve("round", BARRIER_RANKS, rounds)
