"""The distributions of table 1 of the two-phase paper: each compared with the conforming one, cold and warm.

Source: del Rosario, Bordawekar, Choudhary, *Improved Parallel I/O via a Two-phase Run-time Access Strategy* (1993),
section 4.2 and table 8: best read (of the conforming distribution), redistribution in memory, and their sum.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.ranks.ranks import Ranks
from swath.space import TABLE_1, Distribution, table_1
from swath_bench.measure import (
    VALUE_BYTES,
    VALUE_DTYPE,
    FileUnderTest,
    Values,
    check_equal,
    counted,
    say,
    shuffled,
    stamped,
    summary,
    timed,
)

CACHES = ("cold", "warm")
CONFORMING = "row-block, direct"
CONFORMING_NAME = "row-block"
STAMP = 1
UNTOUCHED = -1
COLD_MAX = 0.01
"""The part of the file that may be in the page cache for a read to be called cold."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: number of ranks.
        bytes: bytes of the array, rounded down to a square of 8-byte elements.
        repetitions: number of counted repetitions, each with every distribution.
        fresh: read into new memory each time, as a first read does, not into touched memory.
    """

    ranks: int = 4
    bytes: int = 2 << 30
    repetitions: int = 5
    fresh: bool = False

    @property
    def extent(self) -> int:
        """Number of rows, and of columns, of the array."""
        return max(1, math.isqrt(self.bytes // VALUE_BYTES))


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=2 << 20, repetitions=3)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: the file in the page cache, and the array in two distributions."""
    return {"disk": options.bytes, "memory": 3 * options.bytes + options.ranks * (128 << 20)}


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Measure all distributions; plain data, the same on every rank except its own times."""
    from mpi4py import MPI

    extent = options.extent
    file = FileUnderTest(ranks, path, extent * extent)
    with file.opened():
        say(ranks, f"table1: writing {units.in_bytes(file.bytes)}")
        file.fill(STAMP)
        with swath.open(path, shape=(extent, extent), dtype=VALUE_DTYPE, comm=MPI.COMM_WORLD) as array:
            bench = _Table1(ranks, file, array, options)
            measurements = [m for cache in CACHES for m in bench.measure_reads(cache)]
            measurements += bench.measure_redistributions()
            engine = array.engine
    return {
        "extent": extent,
        "file_bytes": file.bytes,
        "engine": engine,
        "grids": {name: list(d.grid) for name, d in bench.distributions.items()},
        "measurements": measurements,
    }


class _Table1:
    """The measurements; reads into the same memory, or with `Options.fresh` each into its own."""

    def __init__(self, ranks: Ranks, file: FileUnderTest, array: swath.Array, options: Options) -> None:
        self.distributions = {name: table_1(name, ranks.size) for name in TABLE_1}
        self._ranks, self._file, self._array, self._options = ranks, file, array, options
        self._shape = (options.extent, options.extent)
        largest = max(math.prod(d.local_shape(self._shape, ranks.rank)) for d in self.distributions.values())
        self._memory = np.full(largest, UNTOUCHED, dtype=np.int64)

    def measure_reads(self, cache: str) -> list[dict[str, Any]]:
        """Run each repetition: for every distribution a conforming read, two by two-phase, and a conforming one.

        This order favours neither kind, if the machine drifts or is slow every second time: when a host
        takes freed memory back and gives it again, a dropped page cache is filled at two speeds in turn.
        Repetition 0, which is not counted, is one read of each kind: it warms memory, file and device.
        """
        measurements = [
            self._measure_read(cache, 0, None, "direct"),
            self._measure_read(cache, 0, CONFORMING_NAME, "two-phase"),
        ]
        for repetition in range(1, self._options.repetitions + 1):
            for name in shuffled(list(self.distributions), repetition):
                measurements += [
                    self._measure_read(cache, repetition, of, "two-phase" if of else "direct")
                    for of in (None, name, name, None)
                ]
        return measurements

    def _measure_read(self, cache: str, repetition: int, name: str | None, method: str) -> dict[str, Any]:
        distribution = self.distributions[name or CONFORMING_NAME]
        given: Values | None = None
        if not self._options.fresh:
            given = self._memory_for(distribution)
            given.fill(UNTOUCHED)
        read: list[Values] = []  # the target memory is not returned to the system while the clock runs
        cached = self._file.cool() if cache == "cold" else self._file.warm()
        measured = timed(self._ranks, lambda: read.append(self._array.read(distribution, method=method, out=given)))
        shown = name or CONFORMING
        self._check(read[0], distribution, f"{cache} read of {shown}")
        self._say(cache, repetition, shown, measured["seconds"])
        return {
            "phase": cache,
            "repetition": repetition,
            "distribution": shown,
            **measured,
            "cached_bytes_before": cached,
        }

    def measure_redistributions(self) -> list[dict[str, Any]]:
        """Measure the redistribution from the conforming distribution to every other, memory to memory."""
        source = self.distributions[CONFORMING_NAME]
        values = self._expected(source, 0, source.local_shape(self._shape, self._ranks.rank)[0])
        measurements = []
        others = [name for name in self.distributions if name != CONFORMING_NAME]
        for repetition in range(self._options.repetitions + 1):
            for name in shuffled(others, repetition):
                target = self.distributions[name]
                memory = self._memory_for(target)
                memory.fill(UNTOUCHED)
                move = functools.partial(
                    swath.redistribute, values, source, target, self._shape, comm=self._ranks, out=memory
                )
                measured = timed(self._ranks, move)
                self._check(memory, target, f"redistribution to {name}")
                self._say("redistribution", repetition, name, measured["seconds"])
                measurements.append(
                    {"phase": "redistribution", "repetition": repetition, "distribution": name, **measured}
                )
        return measurements

    def _memory_for(self, distribution: Distribution) -> Values:
        shape = distribution.local_shape(self._shape, self._ranks.rank)
        return self._memory[: math.prod(shape)].reshape(shape)

    def _expected(self, distribution: Distribution, begin: int, end: int) -> Values:
        """Return rows [begin, end) of this rank's share."""
        rows, columns = distribution.indices(self._shape, self._ranks.rank)
        return stamped(rows[begin:end, None] * self._shape[1], STAMP) + columns

    def _check(self, memory: Values, distribution: Distribution, who: str) -> None:
        check_equal(self._ranks, memory, lambda begin, end: self._expected(distribution, begin, end), who)

    def _say(self, phase: str, repetition: int, name: str, seconds: float) -> None:
        text = f"table1: {phase} {repetition} of {self._options.repetitions}: {name} {units.in_seconds(seconds)}"
        say(self._ranks, text)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return medians, and the ratio of each pair of reads to the conforming reads just before and after it."""
    measurements = counted(result["measurements"])
    phases = {phase: [m for m in measurements if m["phase"] == phase] for phase in (*CACHES, "redistribution")}
    summarised: dict[str, Any] = {
        "redistribution": {
            name: summary(seconds).to_dict() for name, seconds in _seconds(phases["redistribution"]).items()
        }
    }
    for cache in CACHES:
        conforming = summary(_seconds(phases[cache])[CONFORMING])
        ratios = _ratios(phases[cache])
        distributions = {
            name: {
                **summary(seconds).to_dict(),
                "to_conforming": summary(ratios[name]).to_dict(),
                "total_of_table_8": conforming.median
                + summarised["redistribution"].get(name, {"median": 0.0})["median"],
            }
            for name, seconds in _seconds(phases[cache]).items()
            if name != CONFORMING
        }
        slowest = max(distributions, key=lambda name: distributions[name]["to_conforming"]["median"])
        summarised[cache] = {
            "conforming": conforming.to_dict(),
            "distributions": distributions,
            "slowest": slowest,
            "slowest_to_conforming": distributions[slowest]["to_conforming"]["median"],
            **_evidence(phases[cache], result["file_bytes"]),
        }
    return summarised


def _seconds(measurements: list[dict[str, Any]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for m in measurements:
        found.setdefault(m["distribution"], []).append(m["seconds"])
    return found


def _ratios(measurements: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the ratios: conforming 2 s, two-phase 3 s and 3 s, conforming 4 s give 6 / 6 = 1.0."""
    found: dict[str, list[float]] = {}
    for before, first, second, after in zip(*(measurements[n::4] for n in range(4)), strict=True):
        ratio = (first["seconds"] + second["seconds"]) / (before["seconds"] + after["seconds"])
        found.setdefault(first["distribution"], []).append(ratio)
    return found


def _evidence(measurements: list[dict[str, Any]], file_bytes: int) -> dict[str, Any]:
    """Return how cold or warm the file was: least and most cached bytes, and bytes that the device read."""
    evidence: dict[str, Any] = {}
    for told, name in (("cached_bytes_before", "cached"), ("device_bytes", "device")):
        values = [m[told] for m in measurements]
        known = None not in values
        evidence[f"{name}_part_min"] = min(values) / file_bytes if known else None
        evidence[f"{name}_part_max"] = max(values) / file_bytes if known else None
    return evidence


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the two tables, how they were measured, and the conclusion."""
    options, extent = result["options"], result["extent"]
    console.print(
        Text(
            f"Table 1: {options['ranks']} ranks, {units.by((extent, extent))} 8-byte elements in C order "
            f"({units.in_bytes(result['file_bytes'])});\n"
            f"two-phase read into {'new' if options['fresh'] else 'touched'} memory, until the last rank has all",
            style="bold",
        )
    )
    console.print(_reads_table(result))
    console.print(Text(_honest_words(result), style="dim"), soft_wrap=True)
    console.print()
    console.print(Text("As table 8 of the paper: the best read, then redistribution in memory", style="bold"))
    console.print(_table_8(result))
    cold, warm = (result["summary"][cache] for cache in CACHES)
    console.print()
    console.print(
        Text(
            f"slowest two-phase read: {cold['slowest_to_conforming']:.2f} × the conforming one from a cold cache "
            f"({cold['slowest']}), {warm['slowest_to_conforming']:.2f} × from a warm one ({warm['slowest']})",
            style="bold",
        ),
        soft_wrap=True,
    )


def _reads_table(result: dict[str, Any]) -> Any:
    summarised = result["summary"]
    numbers = ("cold", "(range)", "× conforming", "warm", "(range) ", "× conforming ")
    table = output.table("distribution", "grid", *numbers, right=numbers)
    conforming: list[str] = []
    for cache in CACHES:
        conforming += [*_median_and_range(summarised[cache]["conforming"]), "1"]
    table.add_row(CONFORMING, units.by(tuple(result["grids"][CONFORMING_NAME])), *conforming)
    for name, grid in result["grids"].items():
        cells: list[str] = []
        for cache in CACHES:
            of = summarised[cache]["distributions"][name]
            cells += [*_median_and_range(of), f"{of['to_conforming']['median']:.2f}"]
        table.add_row(name, units.by(tuple(grid)), *cells)
    return table


def _table_8(result: dict[str, Any]) -> Any:
    summarised = result["summary"]
    numbers = ("redistribute", "best read, cold", "total", "two-phase", "best read, warm", "total ", "two-phase ")
    table = output.table("distribution", *numbers, right=numbers)
    for name in result["grids"]:
        redistribution = summarised["redistribution"].get(name)
        cells = ["-" if redistribution is None else units.in_seconds(redistribution["median"])]
        for cache in CACHES:
            of = summarised[cache]["distributions"][name]
            cells += [
                units.in_seconds(seconds)
                for seconds in (summarised[cache]["conforming"]["median"], of["total_of_table_8"], of["median"])
            ]
        table.add_row(name, *cells)
    return table


def _median_and_range(of: dict[str, float]) -> list[str]:
    unit, scale = ("ms", 1e3) if of["median"] < 1 else ("s", 1.0)
    low, median, high = (f"{of[key] * scale:.3g}" for key in ("low", "median", "high"))
    return [f"{median} {unit}", f"({low}–{high})"]


def _honest_words(result: dict[str, Any]) -> str:
    options, cold, warm = result["options"], result["summary"]["cold"], result["summary"]["warm"]
    lines = [
        f"Median of {options['repetitions']} repetitions without the fastest and slowest, distributions in turn, each",
        "read twice between two conforming reads, to which it is compared. After each read all data is checked.",
    ]
    kept = "not known (no cachestat)" if cold["cached_part_max"] is None else f"{cold['cached_part_max']:.2%} at most"
    device = "not known" if cold["device_part_min"] is None else f"{cold['device_part_min']:.1%} at least"
    lines.append(f"Cold: fsync and DONTNEED before each read; of the file then in memory: {kept};")
    lines.append(f"read from the device: {device}. What the device, or the host of a virtual one, caches stays cached.")
    kept = "not known" if warm["cached_part_min"] is None else f"{warm['cached_part_min']:.2%} at least"
    device = "not known" if warm["device_part_max"] is None else f"{warm['device_part_max']:.1%} at most"
    lines.append(f"Warm: of the file in memory before each read: {kept}; read from the device: {device}.")
    if not was_cold(cold):
        lines.append("NOT COLD: this file system keeps its pages, or asks no device (is it in memory?).")
    return "\n".join(lines)


def was_cold(evidence: dict[str, Any]) -> bool:
    """Return whether the cold reads found nothing in the page cache, as far as that is known."""
    kept, device = evidence["cached_part_max"], evidence["device_part_min"]
    return (kept is None or kept <= COLD_MAX) and (device is None or device >= 1 - COLD_MAX)
