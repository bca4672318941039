"""Batches that can be computed again: 0, 25, 50, 75, 100 % on disk, compared with the share that `auto` chooses.

Figure 6 of the application-I/O paper (2002) with a real computation of tunable length, on modelled disks and on the
disk of this folder. A time is that of an iteration after the file is written: the median of those after the second.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError
from swath.ranks.ranks import ranks_of
from swath_bench import launch
from swath_bench.measure import WrongDataError, counted, say, shuffled, summary

RATES = {"xeon-eide": 23e6, "p690-scsi": 35e6, "p690-raid5": 125e6}
"""Bytes a second of the modelled disks (docs/modelled-disks.md)."""
HERE = "here"
HERE_RATE = 100e6
"""Bytes of SCF's integrals that a core computes a second, for the disk of this folder."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
AUTO = "auto"
CONTENDERS: tuple[float | str, ...] = (*SHARES, AUTO)
UNIT_ELEMENTS = 2048
WARM_UP = 2
"""Iterations that write the file, and correct the choice."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: one process.
        bytes: bytes of all batches together.
        batches: number of batches.
        disks: presets of modelled disks; "here" is the folder's own disk.
        computing: the ratio of the rate of computing to the rate of reading.
        iterations: number of iterations of each contender.
        repetitions: number of counted repetitions, each with every contender.
    """

    ranks: int = 1
    bytes: int = 48 << 20
    batches: int = 96
    disks: tuple[str, ...] = (*RATES, HERE)
    computing: tuple[float, ...] = (1.0, 20.0)
    iterations: int = 6
    repetitions: int = 3
    in_one_process = True

    def __post_init__(self) -> None:
        for disk in self.disks:
            if disk != HERE and disk not in RATES:
                raise ArgumentError(f'--disk: "{disk}" is unknown: expected some of {", ".join((*RATES, HERE))}')
        if not all(rate > 0 for rate in self.computing) or not self.computing:
            raise ArgumentError("--computing: expected numbers more than 0")
        if self.ranks != 1:
            raise ArgumentError(f"--ranks {self.ranks}: balanced is of one process")
        if self.bytes < 8 * self.batches:
            raise ArgumentError(f"--bytes {self.bytes}: expected at least {8 * self.batches}")
        if self.iterations <= WARM_UP:
            raise ArgumentError(f"--iterations {self.iterations}: expected more than {WARM_UP}")


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests: no modelled disk."""
    return Options(bytes=2 << 20, batches=16, disks=(HERE,), computing=(1.0,), iterations=3, repetitions=1)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory: one file at a time."""
    return {"disk": 2 * options.bytes, "memory": 2 * options.bytes}


class Computation:
    """Batches that take a stated number of sines to compute: some are three times as expensive as others.

    Args:
        options: how many, and their bytes.
        rate: bytes of all of them that a core computes a second.
    """

    def __init__(self, options: Options, rate: float) -> None:
        self.elements = options.bytes // options.batches // 8
        self.sizes = [self.elements] * options.batches
        self._block = np.linspace(0.0, 1.0, UNIT_ELEMENTS)
        order = np.random.default_rng(options.batches).permutation(options.batches)
        dearness = 0.5 + order / max(options.batches - 1, 1)
        self._units = np.maximum(1, dearness / dearness.mean() * 8 * self.elements / rate / self._seconds_of_unit())

    def produce(self, batch: int) -> npt.NDArray[np.float64]:
        """Return a batch."""
        self._work(int(self._units[batch]))
        return self.expected(batch)

    def expected(self, batch: int) -> npt.NDArray[np.float64]:
        """Return its values, at once."""
        return np.full(self.elements, float(batch + 1))

    def _work(self, units: int) -> None:
        block = self._block
        for _ in range(units):
            block = np.sin(block)

    def _seconds_of_unit(self) -> float:
        """Return the smallest of a few times: the time of a core that does nothing else."""
        found = []
        for _ in range(5):
            begin = time.perf_counter()
            self._work(100)
            found.append((time.perf_counter() - begin) / 100)
        return min(found)


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure every contender in turn, for every disk and rate of computing."""
    told: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "measurements": []}
    for disk in options.disks:
        with launch.on_disk(None if disk == HERE else disk, folder, "build") as path:
            for factor in options.computing:
                computation = Computation(options, factor * RATES.get(disk, HERE_RATE))
                for repetition in range(options.repetitions + 1):
                    say(
                        ranks_of(None), f"balanced: {disk}, computing {factor:g}, {repetition} of {options.repetitions}"
                    )
                    for share in shuffled(CONTENDERS, repetition):
                        measured = _measured(options, computation, os.path.join(path, "batches"), share)
                        case = {"disk": disk, "factor": factor, "share": share, "repetition": repetition}
                        told["measurements"].append({**case, **measured})
        keep(told)
    return told


def _measured(options: Options, computation: Computation, path: str, share: float | str) -> dict[str, Any]:
    """Return the seconds of each iteration, and the last choice of `auto`. Raises WrongDataError."""
    with swath.Balanced(computation.produce, computation.sizes, path=path, disk=share, memory=0) as balanced:
        for _ in range(options.iterations):
            seen = 0
            for batch, values in balanced:
                if not (values == batch + 1).all():
                    raise WrongDataError(f"balanced: batch {batch} has other values at share {share}")
                seen += 1
            if seen != options.batches:
                raise WrongDataError(f"balanced: {seen} of {options.batches} batches at share {share}")
        plan, iterations = balanced.plan, [one.total for one in balanced.iterations]
    return {
        "seconds": statistics.median(iterations[WARM_UP:]),
        "iterations": iterations,
        "disk_share": plan.disk_share,
        "predicted": plan.seconds,
    }


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return, for each disk and rate, the seconds of every share, and `auto` divided by the best and by 0 and 100 %."""
    cases: dict[str, dict[str, Any]] = {}
    for (disk, factor), of in _cases(counted(result["measurements"])):
        seconds = {str(share): summary(one["seconds"]).to_dict() for share, one in of.items()}
        medians = {share: one["median"] for share, one in seconds.items()}
        auto = medians.pop(AUTO)
        cases[f"{disk} {factor:g}"] = {
            "seconds": seconds,
            "auto_share": statistics.median(of[AUTO]["disk_share"]),
            "auto_to_best": auto / min(medians.values()),
            "computed_to_auto": medians["0.0"] / auto,
            "read_to_auto": medians["1.0"] / auto,
        }
    return cases


def _cases(measurements: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, float], dict[Any, dict[str, list[float]]]]]:
    cases: dict[tuple[str, float], dict[Any, dict[str, list[float]]]] = {}
    for m in measurements:
        of_share = cases.setdefault((m["disk"], m["factor"]), {}).setdefault(m["share"], {})
        for name in ("seconds", "disk_share"):
            of_share.setdefault(name, []).append(m[name])
    yield from cases.items()


def show(console: Console, result: dict[str, Any]) -> None:
    """The table, and how it was measured."""
    options = result["options"]
    size = units.in_bytes(options["bytes"])
    console.print(Text(f"{options['batches']} batches, {size}; seconds of an iteration", style="bold"))
    numbers = (*(f"{share:.0%}" for share in SHARES), AUTO, "its share", "to the best", "ends to it")
    table = output.table("disk, computing", *numbers, right=numbers)
    for case, of in result["summary"].items():
        cells = [f"{of['seconds'][str(share)]['median']:.3f}" for share in (*SHARES, AUTO)]
        cells += [f"{of['auto_share']:.0%}", f"{of['auto_to_best']:.2f}"]
        cells.append(f"{of['computed_to_auto']:.2f}, {of['read_to_auto']:.2f}")
        table.add_row(case, *cells)
    console.print(table)
    console.print(
        Text(
            f"Median of {options['repetitions']} repetitions after one that does not count; of each the median of the "
            f"iterations after the first {WARM_UP}; contenders in turn; no batch in memory; all data checked.\n"
            "Disks but “here” are modelled: a model's time. The number beside is how many times as fast as the disk "
            f"reads ({HERE}: {HERE_RATE / 1e6:.0f} MB/s) batches are computed.",
            style="dim",
        ),
        soft_wrap=True,
    )
