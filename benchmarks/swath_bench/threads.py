"""Threads of one process that read: one shared open array, an open array for each thread, and one thread alone.

Two arrays of the same elements are in the page cache: chunks of Zarr, which each read decodes, and a `.npy` file, from
which columns are picked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.ranks.ranks import ranks_of
from swath_bench.measure import VALUE_BYTES, VALUE_DTYPE, WrongDataError, counted, say, shuffled, summary

SHARED, OWN, ALONE = "one array", "an array a thread", "one thread"
CHUNKS, COLUMNS = "chunks", "columns"
CHUNK = 256
"""Elements of a chunk along each dimension."""
COLUMNS_A_READ = 8


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: one process: no ranks are started.
        threads: number of threads that read at once.
        bytes: bytes of the array, rounded down to a square of 8-byte elements of whole chunks.
        repetitions: number of counted repetitions, each with every contender.
    """

    ranks: int = 1
    threads: int = 4
    bytes: int = 128 << 20
    repetitions: int = 8
    in_one_process = True

    @property
    def extent(self) -> int:
        """Number of rows, and of columns, of the array."""
        return max(1, math.isqrt(self.bytes // VALUE_BYTES) // CHUNK) * CHUNK


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=2 << 20, repetitions=3)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: the array in two formats."""
    return {"disk": 2 * options.bytes, "memory": 4 * options.bytes}


@dataclasses.dataclass(frozen=True)
class Case:
    """The reads of a case: `selections`, which together are the whole array, each by one read."""

    name: str
    path: str
    selections: list[tuple[slice, slice]]


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure every case and contender, in turn."""
    values = np.arange(options.extent**2, dtype=VALUE_DTYPE).reshape(options.extent, options.extent)
    told: dict[str, Any] = {"extent": options.extent, "cores": len(os.sched_getaffinity(0)), "measurements": []}
    for case in _cases(values, folder):
        for repetition in range(options.repetitions + 1):
            say(ranks_of(None), f"threads: {case.name}, repetition {repetition} of {options.repetitions}")
            for contender in shuffled((SHARED, OWN, ALONE), repetition):
                threads = 1 if contender == ALONE else options.threads
                seconds = _seconds(case, values, threads, shares=contender == SHARED)
                told["measurements"].append(
                    {"case": case.name, "contender": contender, "repetition": repetition, "seconds": seconds}
                )
        keep(told)
    return told


def _cases(values: np.ndarray[Any, Any], folder: str) -> list[Case]:
    extent = len(values)
    whole = slice(0, extent)
    with swath.create(os.path.join(folder, "a.zarr"), values.shape, values.dtype, chunks=(CHUNK, CHUNK)) as a:
        a.write(values)
        chunks = Case(CHUNKS, a.path, [(slice(i, i + CHUNK), whole) for i in range(0, extent, CHUNK)])
    with swath.create(os.path.join(folder, "a.npy"), values.shape, values.dtype) as a:
        a.write(values)
        columns = [(whole, slice(i, i + COLUMNS_A_READ)) for i in range(0, extent, COLUMNS_A_READ)]
    return [chunks, Case(COLUMNS, a.path, columns)]


def _seconds(case: Case, values: np.ndarray[Any, Any], threads: int, *, shares: bool) -> float:
    """Return the seconds of all selections, dealt to the threads in turn. Raises WrongDataError for wrong elements."""
    with contextlib.ExitStack() as stack:
        arrays = [stack.enter_context(swath.open(case.path)) for _ in range(1 if shares else threads)]
        pool = stack.enter_context(ThreadPoolExecutor(threads))

        def read(thread: int) -> list[np.ndarray[Any, Any]]:
            array = arrays[thread % len(arrays)]
            return [array[selection] for selection in case.selections[thread::threads]]

        list(pool.map(lambda _: None, range(threads)))  # the threads exist now
        start = time.perf_counter()
        parts = list(pool.map(read, range(threads)))
        seconds = time.perf_counter() - start
    for thread, of_thread in enumerate(parts):
        for selection, part in zip(case.selections[thread::threads], of_thread, strict=True):
            if not np.array_equal(part, values[selection]):
                raise WrongDataError(f"{case.name}: thread {thread} of {threads} read other elements at {selection}")
    return seconds


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return for each case every contender's seconds, and the ratios of sharing to the others, by repetition."""
    seconds: dict[str, dict[str, dict[int, float]]] = {}
    for m in counted(result["measurements"]):
        seconds.setdefault(m["case"], {}).setdefault(m["contender"], {})[m["repetition"]] = m["seconds"]
    return {case: dict(_summarised(of)) for case, of in seconds.items()}


def _summarised(of: dict[str, dict[int, float]]) -> Iterator[tuple[str, dict[str, float]]]:
    for name, by_repetition in of.items():
        yield name, summary(list(by_repetition.values())).to_dict()
    for key, other in (("to_own", OWN), ("to_one_thread", ALONE)):
        if SHARED in of and other in of:
            ratios = [of[other][r] / seconds for r, seconds in of[SHARED].items() if r in of[other]]
            yield key, summary(ratios).to_dict()


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the table, how it was measured, and the conclusion."""
    options, extent = result["options"], result["extent"]
    size = units.in_bytes(extent**2 * VALUE_BYTES)
    title = (
        f"{options['threads']} threads on {result['cores']} cores read {units.by((extent, extent))} elements ({size})"
    )
    console.print(Text(f"{title}; ms", style="bold"))
    numbers = (SHARED, OWN, ALONE, "times as fast as own", "as one thread")
    table = output.table("", *numbers, right=numbers)
    for case, of in result["summary"].items():
        cells = [f"{of[name]['median'] * 1e3:.1f}" for name in (SHARED, OWN, ALONE)]
        cells += [
            f"{of[key]['median']:.2f} ({of[key]['low']:.2f}-{of[key]['high']:.2f})"
            for key in ("to_own", "to_one_thread")
        ]
        table.add_row(case, *cells)
    console.print(table)
    console.print(
        Text(
            f"Median of {options['repetitions']} repetitions without the fastest and slowest, after one that does not "
            f"count; contenders in turn, page cache; all data checked.\n{CHUNKS}: Zarr, zstd, a row of chunks of "
            f"{CHUNK} x {CHUNK} a read. {COLUMNS}: .npy, {COLUMNS_A_READ} columns a read.",
            style="dim",
        ),
        soft_wrap=True,
    )
