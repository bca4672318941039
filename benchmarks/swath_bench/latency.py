"""Small requests: the cost of one contiguous read of 4 KiB above the system call, on one rank and on several.

One process reads in the core (C++) and from Python; peers are os.preadv into the same memory, NumPy and h5py. Several
ranks read one contiguous run a rank, and 64 interleaved elements a rank, collectively; the peer is
MPI.File.Read_at_all. The file is always warm: the benchmark measures the path to the system call, not the store. It
also measures the cost of a plan for 10,000 ranks.

One rule differs from the other benchmarks: a repetition times several calls in a row with different
requests, and all data are checked after the last. The fastest repetition is given with the median: on a machine that is
not quite quiet it shows the cost of the code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath import _core
from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks
from swath.space import Block, Cyclic, Distribution
from swath_bench import launch
from swath_bench.measure import VALUE_BYTES, VALUE_DTYPE, Values, check_equal, say, shuffled

ELEMENTS = 1 << 20
INTERLEAVED = 64
PLANNED_GRID = (100, 100)
PLANNED_SHAPE = (20_000, 20_000)
STRIDE = 37
"""Call i of a repetition reads position i x 37 of the file, modulo the number of positions."""

PREAD, CORE, PREADV = "pread, in C", "Swath's core, in C++", "os.preadv into the same memory"
ALONE = "os.preadv, each rank for itself"


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: numbers of ranks, each in a separate run; one rank alone is always measured.
        bytes: bytes of one rank's contiguous read, a multiple of 8.
        repetitions: number of counted repetitions, each with every contender.
        calls: number of calls of each contender, one after the other, in each repetition.
    """

    ranks: tuple[int, ...] = (2, 4)
    bytes: int = 4096
    repetitions: int = 100
    calls: int = 50

    def __post_init__(self) -> None:
        most = ELEMENTS * VALUE_BYTES // max(self.ranks) // 2
        if self.bytes % VALUE_BYTES or self.bytes > most:
            raise ArgumentError(f"--bytes {self.bytes}: expected a multiple of {VALUE_BYTES}, at most {most}")


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(ranks=(2,), repetitions=3, calls=3)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: one file raw, one for h5py."""
    return {"disk": 2 * ELEMENTS * VALUE_BYTES, "memory": max(options.ranks) * (128 << 20)}


@dataclasses.dataclass(frozen=True)
class Contender:
    """One way of reading.

    Attributes:
        read: takes the first element of a request of all ranks together; returns this rank's values.
        expected: takes the same first element; returns the right values.
        group: contenders of one group move the same bytes.
    """

    name: str
    read: Callable[[int], Values]
    expected: Callable[[int], Values]
    group: str


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure one rank alone, then several together. `keep` gets the results after each."""
    told: dict[str, Any] = {"measurements": []}
    for ranks in (1, *options.ranks):
        part = launch.run_on_ranks("latency", ranks, dataclasses.asdict(options), folder)
        told["measurements"] += part.pop("measurements")
        told.update(part)
        keep(told)
    return told


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Measure on this number of ranks; on one rank also the core and the planning."""
    if ranks.rank == 0:
        np.arange(ELEMENTS, dtype=VALUE_DTYPE).tofile(path)
    ranks.comm.barrier()
    say(ranks, f"latency: {ranks.size} rank{'s'[: ranks.size > 1]}, {options.repetitions} repetitions")
    if ranks.size > 1:
        with _collective_contenders(ranks, path, options) as contenders:
            return {"measurements": _measure_all(ranks, contenders, options)}
    with _alone(path, options) as contenders:
        measurements = _measure_all(ranks, contenders, options)
    in_core = _core.time_small_reads(path, options.bytes, options.calls, options.repetitions + 1)
    for name, seconds in zip((PREAD, CORE), in_core, strict=True):
        measurements += [
            {"contender": name, "group": "core", "ranks": 1, "repetition": r, "seconds": s}
            for r, s in enumerate(seconds)
        ]
    return {"measurements": measurements, "planning": _time_planning(options.repetitions)}


@contextlib.contextmanager
def _alone(path: str, options: Options) -> Iterator[list[Contender]]:
    count = options.bytes // VALUE_BYTES
    memory = np.empty(count, dtype=VALUE_DTYPE)
    mapped = np.memmap(path, dtype=VALUE_DTYPE, mode="r")
    with contextlib.ExitStack() as opened:
        array = opened.enter_context(swath.open(path, shape=ELEMENTS, dtype=VALUE_DTYPE))
        file = opened.enter_context(open(path, "rb"))

        def preadv(i: int) -> Values:
            os.preadv(file.fileno(), [memory.data], i * VALUE_BYTES)
            return memory

        def copied(i: int) -> Values:
            memory[:] = mapped[i : i + count]
            return memory

        def fromfile(i: int) -> Values:
            file.seek(i * VALUE_BYTES)
            return np.fromfile(file, VALUE_DTYPE, count)

        ways: dict[str, Callable[[int], Values]] = {
            PREADV: preadv,
            "Swath a.read(selection=..., out=...)": lambda i: array.read(selection=np.s_[i : i + count], out=memory),
            "Swath a[i:j]": lambda i: array[i : i + count],
            "numpy.memmap, copied": copied,
            "numpy.fromfile of an open file": fromfile,
        }
        if importlib.util.find_spec("h5py") is not None:
            import h5py

            with h5py.File(f"{path}.h5", "w") as made:
                made["values"] = np.arange(ELEMENTS, dtype=VALUE_DTYPE)
            values = opened.enter_context(h5py.File(f"{path}.h5"))["values"]
            ways["h5py d[i:j]"] = lambda i: values[i : i + count]
        yield [Contender(name, read, lambda i: np.arange(i, i + count), "alone") for name, read in ways.items()]


@contextlib.contextmanager
def _collective_contenders(ranks: Ranks, path: str, options: Options) -> Iterator[list[Contender]]:
    from mpi4py import MPI

    count = options.bytes // VALUE_BYTES
    block, cyclic = Distribution((Block(),), (ranks.size,)), Distribution((Cyclic(),), (ranks.size,))
    runs, elements = np.empty(count, dtype=VALUE_DTYPE), np.empty(INTERLEAVED, dtype=VALUE_DTYPE)
    regions = MPI.INT64_T.Create_resized(0, ranks.size * VALUE_BYTES).Commit()
    with contextlib.ExitStack() as opened:
        array = opened.enter_context(swath.open(path, shape=ELEMENTS, dtype=VALUE_DTYPE, comm=MPI.COMM_WORLD))
        file = opened.enter_context(open(path, "rb"))
        romio, viewed = (MPI.File.Open(MPI.COMM_WORLD, path) for _ in range(2))
        opened.callback(romio.Close)
        opened.callback(viewed.Close)
        viewed.Set_view(ranks.rank * VALUE_BYTES, MPI.INT64_T, regions, "native")
        regions.Free()

        def mine(i: int) -> int:
            return i + ranks.rank * count

        def preadv(i: int) -> Values:
            os.preadv(file.fileno(), [runs.data], mine(i) * VALUE_BYTES)
            return runs

        def read_runs(i: int) -> Values:
            return array.read(block, selection=np.s_[i : i + count * ranks.size], out=runs)  # type: ignore[no-any-return]

        def read_elements(i: int) -> Values:
            return array.read(cyclic, selection=np.s_[i : i + INTERLEAVED * ranks.size], out=elements)  # type: ignore[no-any-return]

        def romio_runs(i: int) -> Values:
            romio.Read_at_all(mine(i) * VALUE_BYTES, runs)
            return runs

        def romio_elements(i: int) -> Values:
            viewed.Read_at_all(i // ranks.size, elements)  # in elements of the view
            return elements

        def expected_runs(i: int) -> Values:
            return np.arange(mine(i), mine(i) + count)

        def expected_elements(i: int) -> Values:
            return np.arange(i + ranks.rank, i + INTERLEAVED * ranks.size, ranks.size)

        yield [
            Contender(ALONE, preadv, expected_runs, "runs"),
            Contender("Swath, another request each time", read_runs, expected_runs, "runs"),
            Contender("Swath, the same again", lambda _: read_runs(0), lambda _: expected_runs(0), "runs"),
            Contender("MPI.File.Read_at_all", romio_runs, expected_runs, "runs"),
            Contender("Swath, another request each time", read_elements, expected_elements, "elements"),
            Contender("Swath, the same again", lambda _: read_elements(0), lambda _: expected_elements(0), "elements"),
            Contender("MPI.File.Read_at_all", romio_elements, expected_elements, "elements"),
        ]


def _measure_all(ranks: Ranks, contenders: list[Contender], options: Options) -> list[dict[str, Any]]:
    """Collective. Time every contender in every repetition, from the first rank's start to the last rank's end."""
    step = ranks.size * options.bytes // VALUE_BYTES
    places = [call * STRIDE % (ELEMENTS // step) * step for call in range(options.calls)]
    taken: list[tuple[Contender, int]] = []
    marks: list[tuple[float, float]] = []
    for repetition in range(options.repetitions + 1):
        for contender in shuffled(contenders, repetition):
            ranks.comm.barrier()
            start = time.perf_counter()
            for place in places:
                values = contender.read(place)
            marks.append((start, time.perf_counter()))
            taken.append((contender, repetition))
            who = f"{contender.name} ({contender.group})"
            expected = contender.expected(places[-1])
            check_equal(ranks, values, lambda i, j, right=expected: right[i:j], who)  # type: ignore[misc]
    of_ranks = np.array(ranks.gather_objects(marks))  # [rank, measurement, (start, end)]
    seconds = (of_ranks[:, :, 1].max(axis=0) - of_ranks[:, :, 0].min(axis=0)) / options.calls
    return [
        {"contender": c.name, "group": c.group, "ranks": ranks.size, "repetition": repetition, "seconds": float(s)}
        for (c, repetition), s in zip(taken, seconds, strict=True)
    ]


def _time_planning(repetitions: int) -> dict[str, Any]:
    """Return seconds of one plan for all ranks of the grid, by the distribution; nothing is read."""
    strides = [PLANNED_SHAPE[1] * VALUE_BYTES, VALUE_BYTES]
    form = _core.ArrayForm(
        "planned", PLANNED_SHAPE, VALUE_BYTES, _core.Layout.strided(PLANNED_SHAPE, VALUE_BYTES, 0, strides)
    )
    ranks = PLANNED_GRID[0] * PLANNED_GRID[1]
    everything = [(0, 1, extent, False) for extent in PLANNED_SHAPE]
    seconds: dict[str, list[float]] = {}
    for rules in ((Block(), Block()), (Block(), Cyclic(3)), (Cyclic(), Cyclic())):
        distribution = Distribution(rules, PLANNED_GRID)
        for write in (False, True):
            took = seconds.setdefault(f"{'write' if write else 'read'} {rules[0]}, {rules[1]}", [])
            shares = _core.Decomposition.distributed(distribution._core, everything, ranks)
            operation = _core.Operation(form, "write" if write else "read", shares)
            for _ in range(min(repetitions, 5)):
                start = time.perf_counter()
                _core.make_plan(operation)
                took.append(time.perf_counter() - start)
    return {"ranks": ranks, "shape": list(PLANNED_SHAPE), "seconds": seconds}


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return microseconds of each contender, fastest repetition and median, and the difference to the system call."""
    seconds: dict[tuple[int, str, str], list[float]] = {}
    for m in result["measurements"]:
        if m["repetition"] > 0:
            seconds.setdefault((m["ranks"], m["group"], m["contender"]), []).append(m["seconds"])
    references: dict[tuple[int, str], tuple[float, float]] = {}
    rows: list[dict[str, Any]] = []
    for (ranks, group, name), of in seconds.items():
        fastest, median = min(of) * 1e6, statistics.median(of) * 1e6
        rows.append({"ranks": ranks, "group": group, "contender": name, "fastest": fastest, "median": median})
        if name in (PREAD, PREADV, ALONE):
            references[ranks, group] = fastest, median
    for row in rows:
        reference = references.get((row["ranks"], row["group"]))
        if reference is not None:
            row["fastest_above"], row["median_above"] = row["fastest"] - reference[0], row["median"] - reference[1]
    planning = {
        name: {"fastest": min(of) * 1e3, "median": statistics.median(of) * 1e3}
        for name, of in result.get("planning", {"seconds": {}})["seconds"].items()
    }
    return {"microseconds": rows, "planning_milliseconds": planning}


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the tables, how it was measured, and the conclusion."""
    options, summarised = result["options"], result["summary"]
    size = units.in_bytes(options["bytes"])
    titles = {
        "core": f"One contiguous read of {size} of a warm file, in C++",
        "alone": f"One contiguous read of {size} of a warm file, from Python",
        "runs": f"{{}} ranks, a contiguous run of {size} each, collective",
        "elements": f"{{}} ranks, {INTERLEAVED} interleaved elements of 8 bytes each, collective",
    }
    rows = summarised["microseconds"]
    order = {group: place for place, group in enumerate(titles)}
    for ranks, group in sorted({(row["ranks"], row["group"]) for row in rows}, key=lambda key: (key[0], order[key[1]])):
        console.print(Text(titles[group].format(ranks) + "; µs", style="bold"))
        numbers = ("fastest", "median", "above the system call: fastest", "median ")
        table = output.table("", *numbers, right=numbers)
        for row in rows:
            if (row["ranks"], row["group"]) == (ranks, group):
                above = [f"{row[key]:.2f}" if key in row else "" for key in ("fastest_above", "median_above")]
                table.add_row(Text(row["contender"]), f"{row['fastest']:.2f}", f"{row['median']:.2f}", *above)
        console.print(table)
        console.print()
    planning = result["planning"]
    console.print(
        Text(f"One plan for {planning['ranks']:,} ranks, array of {units.by(planning['shape'])}; ms", style="bold")
    )
    table = output.table("", "fastest", "median", right=("fastest", "median"))
    for name, of in summarised["planning_milliseconds"].items():
        table.add_row(name, f"{of['fastest']:.2f}", f"{of['median']:.2f}")
    console.print(table)
    console.print(
        Text(
            f"Of {options['repetitions']} repetitions after one that does not count, {options['calls']} calls each; "
            "contenders in turn. Of several ranks:\nfrom the first rank's start to the last rank's end. After each: "
            "the data of the last call checked.",
            style="dim",
        ),
        soft_wrap=True,
    )
