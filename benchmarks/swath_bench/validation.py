"""The simulator against measurements: NCIO cells that no calibration has seen, by each method, measured and simulated.

By default ranks and time of the measurement are simulated, too, but by other code: the ranks are threads that carry out
the library's operations on a modelled disk (`swath.simulated.run_ranks`), whose parameters the machine file does not
know: they are fitted from the profile that `swath calibrate --engine model:PRESET` measures. With --measured the
cells are those that `swath bench ncio --json FILE` has measured, on any store, and --machine is the file that
`swath calibrate --machine` has written for it.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console

import swath
from swath import _core
from swath.calibration.modelled import calibrate_modelled
from swath.commands import output
from swath.errors import ArgumentError, store_error
from swath.simulated import run_ranks
from swath.simulation import machine as machines
from swath.simulation.benchmarks import ncio
from swath.simulation.calibrated import machine_of
from swath.simulation.machine import Machine
from swath.simulation.operations import Operation
from swath.simulation.simulate import simulate
from swath.space import Block, Distribution, Whole
from swath_bench.ncio.contenders import distribution_of, selection_of
from swath_bench.ncio.pattern import Pattern

METHODS = ("direct", "sieve", "list", "two-phase")
DISKS = ("xeon-eide", "p690-scsi")
NOISE = 0.05
"""Measured times that differ by less than this part have no order, nor have those whose repetitions overlap."""
SEEDS = (0, 1, 2)
"""Of the measured ranks: which of them goes first. A head that serves interleaved ranks depends on it very much."""
JITTER = 0.02
"""The noise of the simulator, so that its ranks do not go in the order of their numbers."""

_disks = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: numbers of ranks.
        disks: modelled disks.
        counts: regions of a rank.
        sizes: bytes of a region.
        spacings: bytes between regions.
        measured: a record of `swath bench ncio`; then nothing is measured.
        machine: the machine file of `measured`.
        seed: seed of the simulations.
    """

    ranks: tuple[int, ...] = (1, 2, 4)
    disks: tuple[str, ...] = DISKS
    counts: tuple[int, ...] = (64, 256)
    sizes: tuple[int, ...] = (8, 512, 8192, 65_536)
    spacings: tuple[int, ...] = (0, 512, 65_536)
    measured: str | None = None
    machine: str | None = None
    seed: int = 1

    in_one_process = True
    """It starts no processes, and needs no MPI."""

    def __post_init__(self) -> None:
        if (self.measured is None) != (self.machine is None):
            raise ArgumentError("validation: --measured and --machine belong together: give both, or neither")


def quick_options() -> Options:
    """Few cells: they test that the benchmark works."""
    return Options(ranks=(1, 2), disks=DISKS[:1], counts=(32,), sizes=(8, 65_536), spacings=(512,))


def needs(options: Options) -> dict[str, int]:
    """Bytes of disk and memory."""
    if options.measured is not None:
        return {"disk": 0, "memory": 1 << 28}
    row = max(options.sizes) + max(options.spacings)
    most = max(options.ranks) * max(options.counts) * row
    return {"disk": most, "memory": 2 * most}


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure every cell by every method, or read what was measured, and simulate it."""
    cells = _recorded(options) if options.measured is not None else _measured(options, folder)
    found: list[dict[str, Any]] = []
    for machine, cell in cells:
        pattern = Pattern(**cell["pattern"])
        simulated = {}
        for method in cell["measured"]:
            seeds = (options.seed + seed for seed in SEEDS)  # as many orders of the ranks as were measured
            simulated[method] = statistics.fmean(
                _simulated(machine, pattern, method, cell["direction"], seed) for seed in seeds
            )
        found.append({**cell, "simulated": simulated})
        keep({"cells": found})
    return {"cells": found}


def _simulated(machine: Machine, pattern: Pattern, method: str, direction: str, seed: int) -> float:
    operations = ncio(
        pattern.ranks,
        count=pattern.count,
        region_bytes=pattern.region_bytes,
        spacing_bytes=pattern.spacing_bytes,
        file_spaced=pattern.file_spaced,
        write=direction == "write",
    )
    operation = operations[0].by(method)
    both = [_first_element(operation, pattern.ranks), operation]
    found = simulate(both, machine, ranks=pattern.ranks, seed=seed, noise=JITTER)
    return float(found.values["operations"][-1]["seconds"])


def _first_element(operation: Operation, ranks: int) -> Operation:
    """Return a read of one element: a file that is read first exists, so that writes fill its holes."""
    low = (0,) * len(operation.shape)
    boxes = (((low, (1,) * len(operation.shape)),), *(() for _ in range(ranks - 1)))
    return dataclasses.replace(
        operation, distribution=boxes, selection=None, write=False, method="direct", sync=False, name="first element"
    )


def _measured(options: Options, folder: str) -> Iterator[tuple[Machine, dict[str, Any]]]:
    for disk in options.disks:
        machine = machine_of(calibrate_modelled(f"model:{disk}", folder), "device")
        sizes = itertools.product(options.ranks, options.counts, options.sizes, options.spacings)
        for ranks, count, region, spacing in sizes:
            pattern = Pattern(ranks, count, region, spacing, "c-nc")
            for direction in ("read", "write"):
                times, ranges = {}, {}
                for method in METHODS:
                    found = [_in_virtual_time(pattern, (method, direction, disk), folder, seed) for seed in SEEDS]
                    times[method] = statistics.fmean(found)
                    ranges[method] = (min(found), max(found))
                setting = {"disk": disk, "pattern": dataclasses.asdict(pattern), "direction": direction}
                yield machine, {**setting, "measured": times, "ranges": ranges}


def _in_virtual_time(pattern: Pattern, what: tuple[str, str, str], folder: str, seed: int) -> float:
    """Return the seconds of one access on a new disk, by the clock of the simulated ranks.

    `what` is the method, the direction and the disk.
    """
    method, direction, disk = what
    path = os.path.join(folder, "measured.bin")
    engine = f"model:{disk}@validation{next(_disks)}"
    with open(path, "wb") as file:
        file.truncate(pattern.file_bytes)

    def work(comm: Any) -> tuple[float, float]:
        how: dict[str, Any] = {
            "shape": pattern.file_shape,
            "dtype": "i8",
            "mode": "r+",
            "engine": engine,
            "streams": None,
        }
        given = {"selection": selection_of(pattern), "method": method}
        with swath.open(path, comm=comm, **how) as array:
            distribution = distribution_of(pattern)
            values = np.zeros((pattern.count, pattern.units), "i8")
            first = Distribution((Block(), Whole()), (pattern.ranks, 1))
            array.read(first, selection=np.s_[:1, :1], method="direct")  # then the head is behind the first element
            comm.barrier()
            begin = _core.clock_now()
            if direction == "write":
                array.write(values, distribution, **given)
            else:
                array.read(distribution, out=values, **given)
            return begin, _core.clock_now()

    try:
        spans = run_ranks(pattern.ranks, work, seed=seed)
    finally:
        os.unlink(path)
    return max(end for _, end in spans) - min(begin for begin, _ in spans)


def _recorded(options: Options) -> Iterator[tuple[Machine, dict[str, Any]]]:
    """Yield the cells of a record of NCIO that the simulator can express: contiguous memory, and Swath's methods."""
    assert options.measured is not None
    assert options.machine is not None
    machine = machines.load(options.machine)
    try:
        with open(options.measured, encoding="utf-8") as file:
            record = json.load(file)
        cells = record["cells"]
    except OSError as error:
        raise store_error(f"--measured {options.measured}: {error.strerror}", error.errno) from None
    except (ValueError, KeyError, TypeError):
        raise ArgumentError(f"--measured {options.measured}: expected a record of swath bench ncio --json") from None
    for cell in cells:
        if cell["case"] not in ("c-c", "c-nc"):
            continue
        pattern = {key: cell[key] for key in ("ranks", "region_bytes", "spacing_bytes", "case")}
        pattern["count"] = cell["region_count"]
        times, ranges = {}, {}
        for name, contender in cell["contenders"].items():
            method = name.removeprefix("swath ")
            if contender["family"] == "swath" and method in METHODS and contender["mean_seconds"]:
                times[method] = contender["mean_seconds"]
                each = [one["seconds"] for one in contender["repetitions"]]
                ranges[method] = (min(each), max(each))
        if len(times) > 1:
            setting = {"disk": cell.get("cache", ""), "pattern": pattern, "direction": cell["direction"]}
            yield machine, {**setting, "measured": times, "ranges": ranges}


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return how often the order of two methods is right, and the distribution of the errors."""
    right, pairs, best, errors = 0, 0, 0, []
    for cell in result["cells"]:
        measured, simulated = cell["measured"], cell["simulated"]
        for one, two in itertools.combinations(measured, 2):
            if _differ(cell, one, two):
                pairs += 1
                right += (measured[one] < measured[two]) == (simulated[one] < simulated[two])
        errors += [abs(simulated[method] - measured[method]) / measured[method] for method in measured]
        chosen = min(simulated, key=simulated.__getitem__)
        fastest = min(measured, key=measured.__getitem__)
        best += not _differ(cell, chosen, fastest)
    count = len(result["cells"])
    median, high = (_quantile(errors, part) for part in (0.5, 0.95))
    sentences = [
        f"order of two methods right in {right} of {pairs} pairs that differ by more than noise"
        + (f" ({100 * right / pairs:.1f} %)" if pairs else ""),
        f"the method that is fastest in the simulator is the fastest one measured in {best} of {count} cells",
        f"error of a time: median {100 * median:.1f} %, 95th percentile {100 * high:.1f} %",
    ]
    return {
        "cells": count,
        "pairs": pairs,
        "right": right,
        "best": best,
        "median_error": median,
        "high_error": high,
        "sentences": sentences,
    }


def _differ(cell: dict[str, Any], one: str, two: str) -> bool:
    """Return whether the times of two methods differ by more than noise: their repetitions do not overlap.

    The highest and lowest repetitions count here, also where the mean is without them.
    """
    first, second = sorted((one, two), key=cell["measured"].__getitem__)
    times = cell["measured"]
    is_apart = cell["ranges"][first][1] < cell["ranges"][second][0]
    return bool(is_apart and times[second] - times[first] > NOISE * times[second])


def _quantile(numbers: Sequence[float], part: float) -> float:
    if not numbers:
        return 0.0
    return float(np.quantile(numbers, part)) if len(numbers) > 1 else statistics.fmean(numbers)


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the measured and simulated seconds of each cell, and what follows."""
    rows = output.table("cell", *METHODS, right=METHODS)
    for cell in result["cells"]:
        pattern = cell["pattern"]
        name = f"{cell['disk']} {cell['direction']} {pattern['ranks']} × {pattern['count']} × {pattern['region_bytes']}"
        shown = (_pair(cell["measured"].get(method), cell["simulated"].get(method)) for method in METHODS)
        rows.add_row(f"{name} + {pattern['spacing_bytes']}", *shown)
    console.print("seconds, measured | simulated; cells: ranks × regions × bytes + spacing", style="bold")
    console.print(rows)
    for sentence in result["summary"]["sentences"]:
        console.print(sentence)


def _pair(measured: float | None, simulated: float | None) -> str:
    return "-" if measured is None or simulated is None else f"{measured:.3g} | {simulated:.3g}"
