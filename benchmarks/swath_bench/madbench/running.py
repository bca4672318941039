"""One run of MADbench on the ranks: dSdC, invD, W, with the barriers where the paper has them.

Source: section 4 of the paper: each step of a phase is computation, synchronisation, I/O, synchronisation, and (but in
dSdC) computation. TIO is a task's time between the two barriers, waiting for a token included, as in the paper: one
reader of 16 at a time takes (16 + 1) / 2 turns on average. LBSTIO is its time at the second barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from swath import _core
from swath.ranks.ranks import Ranks
from swath.store.standalone import page_cache
from swath_bench.madbench.files import ChunkFiles, disk_name
from swath_bench.madbench.options import Options
from swath_bench.madbench.problem import PHASES, Problem, Values, checksum
from swath_bench.madbench.records import run_record
from swath_bench.madbench.work import Computing, Sleeping, Work
from swath_bench.measure import WrongDataError, say


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. One run, whose files at `path` are removed afterwards; return its record, the same on every rank.

    Raises WrongDataError if this rank reads wrong numbers (on this rank alone: end the others), and on every
    rank if --verify finds results that differ from NumPy's.
    """
    return Run(ranks, path, options).measure()


class Watch:
    """When the stages of this task's steps ended: six times a step, seconds of the thread's clock."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self.steps: dict[str, list[list[float]]] = {phase: [] for phase in PHASES}

    def step(
        self,
        phase: str,
        transfer: Callable[[], object],
        *,
        before: Callable[[], object] = lambda: None,
        after: Callable[[], object] = lambda: None,
    ) -> None:
        """Collective. Computation, synchronisation, I/O, synchronisation, computation."""
        barrier = self._ranks.comm.barrier
        marks = [_core.clock_now()]
        for stage in (before, barrier, transfer, barrier, after):
            stage()
            marks.append(_core.clock_now())
        self.steps[phase].append(marks)


class Run:
    """The state of one task."""

    def __init__(self, ranks: Ranks, path: str, options: Options) -> None:
        self._ranks, self._options, self._path = ranks, options, path
        self._problem: Problem = options.problem
        self._files = ChunkFiles(ranks, path, options)
        self._watch = Watch(ranks)
        first, last = self._problem.rows(ranks.rank)
        self._rows = slice(first, last)
        self._sums: dict[int, int] = {}
        self._decisions: list[dict[str, Any]] = []
        self._cached: list[tuple[int, int] | None] = []
        self._work: Work = Computing(ranks, options) if options.compute else Sleeping(ranks, options)

    def measure(self) -> dict[str, Any]:
        """Collective. Run the phases, and return their times."""
        o = self._options
        say(self._ranks, f"madbench: {title_of(o)}")
        try:
            device_before = page_cache.device_bytes_read()
            self._write()
            self._files.open(o.readers[0])
            if o.virtual and self._ranks.rank == 0:
                _core.modelled_disk_record(disk_name(self._path))
            self._read("invD", self._work.add_to_data_correlation, self._work.invert)
            if o.switch_to is not None and self._ranks.rank == 0:
                _core.modelled_disk_set(disk_name(self._path), o.switch_to)
            self._read("W", self._work.multiply)
            device_after = page_cache.device_bytes_read()
            self._decisions += self._files.decisions()
            results = self._work.finish()
            told = self._observed()
        except BaseException:
            self._files.discard()
            raise
        self._files.remove()
        known = device_before is not None and device_after is not None and not o.virtual
        mine = {
            "steps": self._watch.steps,
            "cached": self._cached,
            "device_bytes_read": (device_after or 0) - (device_before or 0) if known else None,
            **told,
        }
        return run_record(o, self._ranks.gather_objects(mine), results)

    def _write(self) -> None:
        """dSdC: make and write each chunk; then sync all."""
        self._files.create(self._options.writers[0])
        for bins in self._problem.steps("dSdC"):
            chunk: list[Values] = []

            def make(number: int = bins[0], chunk: list[Values] = chunk) -> None:
                with self._work.lasting("dSdC", range(number, number + 1)):
                    chunk.append(self._work.chunk(number))
                    self._sums[number] = checksum(chunk[0])

            def write(number: int = bins[0], chunk: list[Values] = chunk) -> None:
                self._files.write(number, chunk[0])

            self._watch.step("dSdC", write, before=make)
        self._watch.step("dSdC", self._files.sync)
        self._decisions += self._files.decisions()
        self._files.close()

    def _read(
        self, phase: str, work: Callable[[range, list[Values]], object], last: Callable[[], object] = lambda: None
    ) -> None:
        """invD, W: read chunks, check them, and work on them."""
        self._cached.append(self._files.prepare_cache(self._options.caches[0]))
        for bins in self._problem.steps(phase):
            shape = (self._rows.stop - self._rows.start, self._problem.pixels)
            chunks = [np.full(shape, np.nan) for _ in bins]  # touched before: page faults are not measured

            def read(bins: range = bins, chunks: list[Values] = chunks) -> None:
                for number, chunk in zip(bins, chunks, strict=True):
                    self._files.read(number, chunk)

            def use(bins: range = bins, chunks: list[Values] = chunks) -> None:
                with self._work.lasting(phase, bins):
                    for number, chunk in zip(bins, chunks, strict=True):
                        self._check(number, chunk)
                    work(bins, chunks)
                    if bins.stop == self._problem.bins:
                        last()

            self._watch.step(phase, read, after=use)

    def _check(self, number: int, chunk: Values) -> None:
        """Raise WrongDataError for a wrong chunk. This task alone raises it: an agreement would be one more barrier."""
        if checksum(chunk) == self._sums[number] and not self._options.verify:
            return
        expected = self._work.chunk(number)
        differs = chunk.view(np.uint64) != expected.view(np.uint64)  # every bit: a zero has two signs
        if differs.any():
            row, column = (int(place) for place in np.argwhere(differs)[0])
            raise WrongDataError(
                f"madbench: wrong data: task {self._ranks.rank}: {self._files.path}: bin {number}, row "
                f"{self._rows.start + row}, column {column}: read {chunk[row, column]}, wrote {expected[row, column]}"
            )

    def _observed(self) -> dict[str, Any]:
        """Return the reports of the throttle and of the modelled disk, from task 0."""
        if self._ranks.rank != 0:
            return {}
        told: dict[str, Any] = {"decisions": self._decisions}
        if self._options.virtual:
            told["heads"] = _core.modelled_disk_trace(disk_name(self._path))
            told["disk_stats"] = _core.modelled_disk_stats(disk_name(self._path))
        return told


def title_of(options: Options) -> str:
    """Return one run, for people."""
    disk = "" if options.only_disk is None else f" on modelled disk {options.only_disk}"
    switched = "" if options.switch_to is None else f", {options.switch_to} from W on"
    time = ", virtual time" if options.virtual else ""
    return (
        f"{options.tasks} tasks, {options.writers[0]} writing, {options.readers[0]} reading at a time"
        f"{disk}{switched}{time}, {options.caches[0]}"
    )
