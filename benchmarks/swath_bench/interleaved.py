"""Tiny interleaved regions: two-phase compared with ROMIO, through mpi4py's `MPI.File`.

The ranks take regions of one file in turn, CYCLIC; each holds its own contiguously in memory (the c-nc case of Ching et
al., 2006, and its mirror). ROMIO gets the view that suits it best, one resized element as filetype, so that
`set_view` stays small; the view is set before the clock starts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks
from swath.space import Block, Cyclic, Distribution
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

if TYPE_CHECKING:
    from mpi4py import MPI

DIRECTIONS = ("write", "read")
OURS = "Swath two-phase"
CONTIGUOUS = "contiguous blocks"
UNTOUCHED = -1


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: number of ranks.
        bytes: bytes of the file, rounded down to whole rounds of regions.
        region_bytes: bytes of each region, a multiple of 8.
        repetitions: number of counted repetitions, each with every contender.
        unsieved_fraction: part of the file for ROMIO without data sieving: one system call a region is slow.
    """

    ranks: int = 2
    bytes: int = 64 << 20
    region_bytes: int = VALUE_BYTES
    repetitions: int = 8
    unsieved_fraction: float = 1 / 16

    def __post_init__(self) -> None:
        if self.region_bytes < VALUE_BYTES or self.region_bytes % VALUE_BYTES:
            raise ArgumentError(f"--region {self.region_bytes}: expected a multiple of {VALUE_BYTES} bytes")
        if not 0 < self.unsieved_fraction <= 1:
            raise ArgumentError(f"--unsieved-fraction {self.unsieved_fraction}: expected a part of 1")

    def elements(self, fraction: float = 1) -> int:
        """Whole rounds of regions in this fraction of the file, in elements; at least one round."""
        round_bytes = self.region_bytes * self.ranks
        return max(1, int(self.bytes * fraction) // round_bytes) * round_bytes // VALUE_BYTES


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=1 << 20, repetitions=3)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory; checking reads the whole file."""
    return {"disk": options.bytes, "memory": 6 * options.bytes + options.ranks * (128 << 20)}


class Contender(Protocol):
    """One way of moving the same bytes."""

    name: str
    peer: bool
    elements: int
    indices: Values

    def move(self, direction: str, memory: Values) -> None:
        """Collective: read this rank's elements into `memory`, or write them from it."""

    def details(self) -> dict[str, Any]:
        """Return its settings, for the record."""


class SwathContender:
    """Swath by one method."""

    peer = False

    def __init__(self, name: str, array: swath.Array, distribution: Distribution, method: str, rank: int) -> None:
        self.name = name
        self.elements = array.size
        self.indices = distribution.indices(array.shape, rank)[0]
        self._array, self._distribution, self._method = array, distribution, method
        self._methods_taken: dict[str, str] = {}

    def move(self, direction: str, memory: Values) -> None:
        """Collective: read this rank's elements into `memory`, or write them from it."""
        if direction == "read":
            self._array.read(self._distribution, method=self._method, out=memory)
        else:
            self._array.write(memory, self._distribution, method=self._method)
        self._methods_taken[direction] = self._array.counters.method

    def details(self) -> dict[str, Any]:
        """Return the method taken for each direction, and the engine."""
        return {"methods": self._methods_taken, "engine": self._array.engine}


class RomioContender:
    """ROMIO in one mode, that is: independent or collective, with hints."""

    peer = True

    def __init__(
        self,
        name: str,
        file: FileUnderTest,
        comm: MPI.Intracomm,
        options: Options,
        hints: Mapping[str, str],
        elements: int,
    ) -> None:
        from mpi4py import MPI

        self.name = name
        self.elements = elements
        region = options.region_bytes // VALUE_BYTES
        self.indices = Distribution((Cyclic(region),), grid=(comm.size,)).indices((elements,), comm.rank)[0]
        self._collective = name.startswith("ROMIO collective")
        info = MPI.Info.Create()
        for hint, value in hints.items():
            info.Set(hint, value)
        self._file = MPI.File.Open(comm, file.path, MPI.MODE_RDWR, info)
        info.Free()
        one = MPI.INT64_T.Create_contiguous(region)
        regions = one.Create_resized(0, options.region_bytes * comm.size).Commit()
        self._file.Set_view(comm.rank * options.region_bytes, MPI.INT64_T, regions, "native")
        one.Free()
        regions.Free()

    def move(self, direction: str, memory: Values) -> None:
        """Read this rank's elements into `memory`, or write them from it. Collective in a collective mode."""
        if self._collective:
            (self._file.Read_at_all if direction == "read" else self._file.Write_at_all)(0, memory)
        else:
            (self._file.Read_at if direction == "read" else self._file.Write_at)(0, memory)

    def details(self) -> dict[str, Any]:
        """Return the hints as ROMIO took them."""
        info = self._file.Get_info()
        taken = {key: value.strip() for key, value in info.items()}
        info.Free()
        return {"hints": taken}

    def close(self) -> None:
        """Collective."""
        self._file.Close()


def romio_hints(ranks: int) -> dict[str, dict[str, str]]:
    """ROMIO's modes: name to hints. By default one rank a node aggregates; the last mode lets every rank do it."""
    collective = {"romio_cb_read": "enable", "romio_cb_write": "enable"}
    return {
        "ROMIO independent, sieving": {"romio_ds_read": "enable", "romio_ds_write": "enable"},
        "ROMIO independent, no sieving": {"romio_ds_read": "disable", "romio_ds_write": "disable"},
        "ROMIO collective, automatic": {"romio_cb_read": "automatic", "romio_cb_write": "automatic"},
        "ROMIO collective, enabled": collective,
        "ROMIO collective, all aggregate": {**collective, "cb_config_list": "*:*", "cb_nodes": str(ranks)},
    }


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Measure all contenders; the result is plain data, the same on every rank except its own times."""
    from mpi4py import MPI

    elements = options.elements()
    file = FileUnderTest(ranks, path, elements)
    with file.opened():
        file.fill(0)
        cyclic = Distribution((Cyclic(options.region_bytes // VALUE_BYTES),), grid=(ranks.size,))
        block = Distribution((Block(),), grid=(ranks.size,))
        with swath.open(path, shape=elements, dtype=VALUE_DTYPE, mode="r+", comm=MPI.COMM_WORLD) as array:
            peers = [
                RomioContender(
                    name,
                    file,
                    MPI.COMM_WORLD,
                    options,
                    hints,
                    options.elements(options.unsieved_fraction) if "no sieving" in name else elements,
                )
                for name, hints in romio_hints(ranks.size).items()
            ]
            ours = [
                SwathContender(f"Swath {method}", array, cyclic, method, ranks.rank)
                for method in ("two-phase", "auto", "sieve")
            ]
            contenders: list[Contender] = [
                *ours,
                *peers,
                SwathContender(CONTIGUOUS, array, block, "direct", ranks.rank),
            ]
            measurements = _measure_all(ranks, file, contenders, options)
            described = [
                {"name": c.name, "peer": c.peer, "bytes": c.elements * VALUE_BYTES, **c.details()} for c in contenders
            ]
            for peer in peers:
                peer.close()
    return {"file_bytes": file.bytes, "contenders": described, "measurements": measurements}


def _measure_all(
    ranks: Ranks, file: FileUnderTest, contenders: list[Contender], options: Options
) -> list[dict[str, Any]]:
    memory = np.full(max(c.indices.size for c in contenders), UNTOUCHED, dtype=np.int64)
    measurements = []
    stamp = 1
    for repetition in range(options.repetitions + 1):
        say(ranks, f"interleaved: repetition {repetition} of {options.repetitions}")
        for direction in DIRECTIONS:
            for contender in shuffled(contenders, repetition):
                stamp += 2
                measured = _measure(ranks, file, contender, direction, memory[: contender.indices.size], stamp)
                measured["repetition"] = repetition
                measurements.append(measured)
    return measurements


def _measure(
    ranks: Ranks, file: FileUnderTest, contender: Contender, direction: str, memory: Values, stamp: int
) -> dict[str, Any]:
    """Fill the file with one stamp, let the contender read it or write another, and check every element."""
    old_stamp, new_stamp = stamp, stamp + 1
    file.fill(old_stamp)
    if direction == "read":
        memory.fill(UNTOUCHED)
    else:
        memory[:] = stamped(contender.indices, new_stamp)
    cached = file.cached_bytes()
    measured = timed(ranks, lambda: contender.move(direction, memory))
    who = f"{direction} by {contender.name}"
    if direction == "read":
        check_equal(ranks, memory, lambda i, j: stamped(contender.indices[i:j], old_stamp), who)
    else:
        file.check(new_stamp, contender.elements, old_stamp, who)
    moved = contender.elements * VALUE_BYTES
    return {
        "contender": contender.name,
        "direction": direction,
        **measured,
        "bytes": moved,
        "megabytes_per_second": moved / measured["seconds"] / 1e6,
        "cached_bytes_before": cached,
    }


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return medians, ratios to the best peer of each direction, and the cached part of the file."""
    measurements = counted(result["measurements"])
    peers = [c["name"] for c in result["contenders"] if c["peer"]]
    summarised: dict[str, Any] = {}
    for direction in DIRECTIONS:
        rates = {
            c["name"]: summary(
                [
                    m["megabytes_per_second"]
                    for m in measurements
                    if (m["contender"], m["direction"]) == (c["name"], direction)
                ]
            )
            for c in result["contenders"]
        }
        best_peer = max(peers, key=lambda name: rates[name].median)
        summarised[direction] = {
            "best_peer": best_peer,
            "two_phase_to_best_peer": rates[OURS].median / rates[best_peer].median,
            "contenders": {
                name: {**rate.to_dict(), "to_best_peer": rate.median / rates[best_peer].median}
                for name, rate in rates.items()
            },
        }
    cached = [m["cached_bytes_before"] for m in measurements]
    device = [m["device_bytes"] for m in measurements if m["direction"] == "read"]
    summarised["cached_bytes_before_min"] = None if None in cached else min(cached)
    summarised["device_bytes_max"] = None if None in device else max(device)
    return summarised


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the table, how it was measured, and the conclusion."""
    options, summarised = result["options"], result["summary"]
    console.print(
        Text(
            f"Interleaved: {options['ranks']} ranks, {units.in_bytes(result['file_bytes'])}, regions of "
            f"{options['region_bytes']} bytes in turn, page cache; MB/s",
            style="bold",
        )
    )
    numbers = ("write", "(range)", "× best ROMIO", "read", "(range) ", "× best ROMIO ")
    table = output.table("", *numbers, right=numbers)
    for contender in result["contenders"]:
        cells = []
        for direction in DIRECTIONS:
            of = summarised[direction]
            rate = of["contenders"][contender["name"]]
            cells += [
                _rate(rate["median"]),
                f"({_rate(rate['low'])}–{_rate(rate['high'])})",
                f"{rate['to_best_peer']:.2f}" + (" ◂" if of["best_peer"] == contender["name"] else ""),
            ]
        table.add_row(_label(contender, result), *cells, style="bold" if contender["name"] == OURS else None)
    console.print(table)
    console.print(Text(_honest_words(result), style="dim"), soft_wrap=True)
    console.print(
        Text(
            f"two-phase write is {summarised['write']['two_phase_to_best_peer']:.1f} times ROMIO's best, read "
            f"{summarised['read']['two_phase_to_best_peer']:.1f} times",
            style="bold",
        )
    )


def _rate(megabytes_per_second: float) -> str:
    return f"{megabytes_per_second:,.0f}" if megabytes_per_second >= 10 else f"{megabytes_per_second:.1f}"


def _label(contender: dict[str, Any], result: dict[str, Any]) -> str:
    if contender["name"] == CONTIGUOUS:
        return f"{CONTIGUOUS} (c-c)"
    if contender["name"] == "Swath auto":
        taken = contender["methods"]
        return "Swath auto: " + " / ".join(dict.fromkeys([taken["write"], taken["read"]]))
    if contender["bytes"] < result["file_bytes"]:
        return f"{contender['name']} ¹"
    return str(contender["name"])


def _honest_words(result: dict[str, Any]) -> str:
    options, summarised = result["options"], result["summary"]
    lines = [
        f"Median of {options['repetitions']} repetitions without the fastest and slowest, after one that does not",
        "count; contenders in turn, on one file. Before each: the file rewritten, memory touched. After each:",
        "all data checked. Opening and set_view are not timed. c-c: each rank one contiguous part, direct.",
    ]
    cached, device = summarised["cached_bytes_before_min"], summarised["device_bytes_max"]
    known = "it was just written" if cached is None else f"cachestat: {_part(cached, result['file_bytes'])} in memory"
    known += "" if device is None else f"; read from the device meanwhile: {units.in_bytes(device)} at most"
    lines.append(f"This is the page cache, not a device ({known}).")
    lines += [
        f"¹ on the first {units.in_bytes(contender['bytes'])} only: one system call a region."
        for contender in result["contenders"]
        if contender["bytes"] < result["file_bytes"]
    ]
    return "\n".join(lines)


def _part(some: int, whole: int) -> str:
    return f"{100 * some / whole:.4g} %"
