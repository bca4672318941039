"""Views: a share that no other rank can compute, compared with the same share as a distribution, and with MPI-IO's.

There are two comparisons on one file of 8-byte elements in the page cache. Regular: the elements that CYCLIC(1) gives a
rank, as `swath.Places` of a range, compared with the distribution itself, both by two-phase. Listed: random elements,
sorted, different on all ranks, by the method that Swath chooses, compared with MPI-IO's `Create_hindexed_block`,
collectively. The first operation on a newly opened file, which makes and gathers the view, is shown separately from the
next one; so is that of MPI-IO, which makes the type and sets the view.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import statistics
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks
from swath_bench.interleaved import romio_hints
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

DIRECTIONS = ("write", "read")
DISTRIBUTION, VIEW, LISTED, MPI_IO = "distribution", "view", "listed view", "MPI-IO, hindexed_block"
FIRST, LATER = "first", "later"
UNTOUCHED = -1
Move = Callable[[str, Values], None]
"""Collective: reads this rank's elements into memory, or writes them from it. Arguments: direction, memory."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: number of ranks.
        bytes: bytes of the file.
        places: number of listed random elements of all ranks together.
        repetitions: number of counted repetitions, each with every contender.
    """

    ranks: int = 2
    bytes: int = 64 << 20
    places: int = 1_000_000
    repetitions: int = 6

    def __post_init__(self) -> None:
        if self.places > self.bytes // VALUE_BYTES or self.places < self.ranks:
            raise ArgumentError(
                f"--places {self.places}: expected from {self.ranks} to the {self.bytes // VALUE_BYTES} elements of "
                "the file"
            )

    @property
    def elements(self) -> int:
        """Elements of the file: the same number for each rank."""
        return self.bytes // VALUE_BYTES // self.ranks * self.ranks


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=1 << 20, places=10_000, repetitions=2)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory; checking reads the whole file."""
    return {"disk": options.bytes, "memory": 8 * options.bytes + options.ranks * (160 << 20)}


@dataclasses.dataclass(frozen=True)
class Contender:
    """One way of moving a rank's elements.

    Attributes:
        name: name in the table.
        indices: this rank's elements, ascending.
        opened: opens the file and gives a factory of the function that moves the elements. Collective.
    """

    name: str
    indices: Values
    opened: Callable[[], AbstractContextManager[Callable[[], Move]]]


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. Measure all contenders; the result is plain data, the same on every rank."""
    elements = options.elements
    cyclic = np.arange(ranks.rank, elements, ranks.size, dtype=np.int64)
    chosen = np.random.default_rng(1).choice(elements, options.places, replace=False)
    listed = np.sort(chosen[ranks.rank :: ranks.size]).astype(np.int64)
    distribution = swath.Distribution((swath.Cyclic(),), grid=(ranks.size,))
    file = FileUnderTest(ranks, path, elements)
    with file.opened():
        file.fill(0)
        contenders = [
            Contender(DISTRIBUTION, cyclic, lambda: _by_swath(path, elements, "two-phase", lambda: distribution)),
            Contender(VIEW, cyclic, lambda: _by_swath(path, elements, "two-phase", lambda: swath.Places(cyclic))),
            Contender(LISTED, listed, lambda: _by_swath(path, elements, "auto", lambda: swath.Places(listed))),
            Contender(MPI_IO, listed, lambda: _by_mpi_io(path, listed)),
        ]
        measurements = _measure_all(ranks, file, contenders, options)
    return {"file_bytes": file.bytes, "measurements": measurements}


@contextlib.contextmanager
def _by_swath(
    path: str, elements: int, method: str, make: Callable[[], swath.Distribution | swath.Places]
) -> Iterator[Callable[[], Move]]:
    from mpi4py import MPI

    with swath.open(path, shape=elements, dtype=VALUE_DTYPE, mode="r+", comm=MPI.COMM_WORLD) as array:

        def begin() -> Move:
            share = make()

            def move(direction: str, memory: Values) -> None:
                if direction == "read":
                    array.read(share, method=method, out=memory)
                else:
                    array.write(memory, share, method=method)

            return move

        yield begin


@contextlib.contextmanager
def _by_mpi_io(path: str, indices: Values) -> Iterator[Callable[[], Move]]:
    """Open with collective buffering in both directions, every rank an aggregator: the best mode of `interleaved`."""
    from mpi4py import MPI

    info = MPI.Info.Create()
    for hint, value in romio_hints(MPI.COMM_WORLD.size)["ROMIO collective, all aggregate"].items():
        info.Set(hint, value)
    file = MPI.File.Open(MPI.COMM_WORLD, path, MPI.MODE_RDWR, info)
    info.Free()

    def begin() -> Move:
        displacements: Any = indices * VALUE_BYTES  # mpi4py takes the array as it is
        places = MPI.INT64_T.Create_hindexed_block(1, displacements).Commit()
        file.Set_view(0, MPI.INT64_T, places, "native")
        places.Free()

        def move(direction: str, memory: Values) -> None:
            (file.Read_at_all if direction == "read" else file.Write_at_all)(0, memory)

        return move

    yield begin
    file.Close()


def _measure_all(
    ranks: Ranks, file: FileUnderTest, contenders: list[Contender], options: Options
) -> list[dict[str, Any]]:
    measurements = []
    stamp = 1
    for repetition in range(options.repetitions + 1):
        say(ranks, f"views: repetition {repetition} of {options.repetitions}")
        for direction in DIRECTIONS:
            for contender in shuffled(contenders, repetition):
                stamp += 4
                measured = _measure(ranks, file, contender, direction, stamp)
                measurements += [{**one, "repetition": repetition} for one in measured]
    return measurements


def _measure(
    ranks: Ranks, file: FileUnderTest, contender: Contender, direction: str, stamp: int
) -> list[dict[str, Any]]:
    """Move the elements twice by a new mover: the first time includes making it."""
    memory = np.full(contender.indices.size, UNTOUCHED, dtype=np.int64)
    made: list[Move] = []
    measured = []
    with contender.opened() as begin:

        def first() -> None:
            made.append(begin())
            made[0](direction, memory)

        for turn, work in ((FIRST, first), (LATER, lambda: made[0](direction, memory))):
            stamp += 2
            file.fill(stamp)
            memory[:] = UNTOUCHED if direction == "read" else stamped(contender.indices, stamp + 1)
            cached = file.cached_bytes()
            seconds = timed(ranks, work)["seconds"]
            who = f"{direction} by {contender.name}, {turn}"
            if direction == "read":
                check_equal(ranks, memory, functools.partial(_stamped_part, contender.indices, stamp), who)
            else:
                _check_written(ranks, file, contender.indices, stamp, who)
            case = {"contender": contender.name, "direction": direction, "turn": turn, "cached_bytes_before": cached}
            measured.append({**case, "seconds": seconds, "bytes": _bytes_of_all(ranks, contender)})
    return measured


def _stamped_part(indices: Values, stamp: int, begin: int, end: int) -> Values:
    return stamped(indices[begin:end], stamp)


def _bytes_of_all(ranks: Ranks, contender: Contender) -> int:
    """Return the bytes that all ranks move. Collective."""
    return sum(map(int, ranks.gather_objects(contender.indices.size))) * VALUE_BYTES


def _check_written(ranks: Ranks, file: FileUnderTest, indices: Values, stamp: int, who: str) -> None:
    """Collective. Raise WrongDataError unless the ranks' elements have `stamp` + 1, and all others still `stamp`."""
    written = np.concatenate(ranks.gather_objects(indices))
    found = np.fromfile(file.path, dtype=VALUE_DTYPE) if ranks.rank == 0 else np.empty(0, np.int64)
    is_new = np.zeros(file.elements, dtype=bool)
    is_new[written] = True

    def expected(begin: int, end: int) -> Values:
        elements = np.arange(begin, end, dtype=np.int64)
        return np.where(is_new[begin:end], stamped(elements, stamp + 1), stamped(elements, stamp))

    check_equal(ranks, found, expected, who)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return milliseconds of each contender, first and later, and the two ratios of each direction and turn."""
    seconds: dict[str, Any] = {}
    for m in counted(result["measurements"]):
        of = seconds.setdefault(m["direction"], {}).setdefault(m["contender"], {})
        of.setdefault(m["turn"], []).append(m["seconds"])
    ratios = {
        direction: {
            turn: {
                "view_to_distribution": _median(of, VIEW, turn) / _median(of, DISTRIBUTION, turn),
                "mpi_io_to_listed": _median(of, MPI_IO, turn) / _median(of, LISTED, turn),
            }
            for turn in (FIRST, LATER)
        }
        for direction, of in seconds.items()
    }
    contenders = {
        direction: {
            name: {turn: summary(values).to_dict() for turn, values in turns.items()} for name, turns in of.items()
        }
        for direction, of in seconds.items()
    }
    cached = [m["cached_bytes_before"] for m in result["measurements"]]
    return {
        "contenders": contenders,
        "ratios": ratios,
        "cached_bytes_before_min": None if None in cached else min(cached),
    }


def _median(of: dict[str, Any], name: str, turn: str) -> float:
    values: list[float] = of[name][turn]
    return statistics.median(values)


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the table, how it was measured, and the ratios."""
    options, summarised = result["options"], result["summary"]
    console.print(
        Text(
            f"Views: {options['ranks']} ranks, {units.in_bytes(result['file_bytes'])}, page cache; "
            f"{options['places']:,} places listed; milliseconds",
            style="bold",
        )
    )
    numbers = [f"{direction}, {turn}" for direction in DIRECTIONS for turn in (FIRST, LATER)]
    table = output.table("", *numbers, right=tuple(numbers))
    for name in (DISTRIBUTION, VIEW, LISTED, MPI_IO):
        cells = []
        for direction in DIRECTIONS:
            for turn in (FIRST, LATER):
                one = summarised["contenders"][direction][name][turn]
                cells.append(f"{one['median'] * 1e3:.1f} ({one['low'] * 1e3:.1f}–{one['high'] * 1e3:.1f})")
        table.add_row(name, *cells)
    console.print(table)
    cached = summarised["cached_bytes_before_min"]
    known = "it was just written" if cached is None else f"cachestat: {units.in_bytes(cached)} of it at least"
    console.print(
        Text(
            f"Median of {options['repetitions']} repetitions after one that does not count; contenders in turn, the "
            "file opened and rewritten before each, all of it checked after each.\nfirst: with what makes and tells "
            "the view (Places, Create_hindexed_block, Set_view). "
            f"This is the page cache, not a device ({known}).",
            style="dim",
        ),
        soft_wrap=True,
    )
    for direction in DIRECTIONS:
        of = summarised["ratios"][direction]
        console.print(
            Text(
                f"{direction}: the view takes {of[LATER]['view_to_distribution']:.2f} x the distribution's time "
                f"(first {of[FIRST]['view_to_distribution']:.2f}); MPI-IO takes {of[LATER]['mpi_io_to_listed']:.1f} x "
                f"the listed view's (first {of[FIRST]['mpi_io_to_listed']:.1f})",
                style="bold",
            )
        )
