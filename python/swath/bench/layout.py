"""Layouts that are advised, beside those that are measured best: figure 7 of application-io-2002, for any accesses.

For each mix of accesses the planner's best layouts, h5py's guess and C order are made as files, and the accesses
carried out on modelled disks, at places that the planner did not look at, in the time of a simulation: seconds of the
disk, none of the processor. A disk is calibrated first, and advice knows of it no more than its profile.
"""

from __future__ import annotations

import dataclasses
import math
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath import _core
from swath.advice import accesses as made
from swath.advice import candidates
from swath.advice.accesses import Operations
from swath.advice.candidates import Candidate
from swath.advice.pricing import Conditions, Pricer
from swath.advice.result import RankedLayout, ranked
from swath.commands import output
from swath.errors import ArgumentError
from swath.simulated import run_ranks
from swath.store.calibration.modelled import calibrate_modelled

VALUE_BYTES = 8
RANKS = 4
BEST = 10
DISKS = ("p690-scsi", "p690-raid5")
WANTED = 1.15

MIXES: tuple[tuple[int, tuple[str, ...]], ...] = (
    (2, ("[:, j]:10", "[i, :]:10")),
    (2, ("[:, j]:10", "[i, :]:1")),
    (2, ("[:, j]:1", "[i, :]:10")),
    (2, ("[:, j]:5",)),
    (2, ("[i, :]:5",)),
    (2, ("[:, j:j+64]:5", "[i:i+64, :]:5")),
    (2, ("[i:i+256, j:j+256]:20",)),
    (2, ("[i:i+256, j:j+256]:20", "[:, :]:1")),
    (2, ("[:, j:j+16]:10", "[:, :]:1")),
    (2, ("write [i:i+64, :]:8", "[:, j:j+64]:8")),
    (2, ("write [i:i+128, :]:4", "[:, j:j+8]:16")),
    (2, ("[block, *]:1", "[*, block]:1")),
    (2, ("[block, block]:1",)),
    (2, ("[*, cyclic(32)]:1", "[block, *]:1")),
    (3, ("[t, :, :]:10", "[:, y, x]:50")),
    (3, ("[t, :, :]:10", "[:, y:y+8, x:x+8]:20")),
    (3, ("[:, y, :]:10", "[:, :, x]:10")),
    (3, ("[i:i+32, j:j+32, k:k+32]:20",)),
    (3, ("[i, :, :]:5", "[:, j, :]:5", "[:, :, k]:5")),
    (3, ("write [t, :, :]:10", "[:, y, :]:5")),
)


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        bytes: of the array, about.
        disks: modelled ones, by their presets.
        mixes: how many of the twenty are measured.
        seed: of the places that are measured.
    """

    bytes: int = 64 << 20
    disks: tuple[str, ...] = DISKS
    mixes: int = len(MIXES)
    seed: int = 1

    in_one_process = True
    """It starts no processes, and needs no MPI."""

    def __post_init__(self) -> None:
        if not 1 <= self.mixes <= len(MIXES):
            raise ArgumentError(f"--mixes {self.mixes}: expected 1 to {len(MIXES)}")

    def shape(self, ndim: int) -> tuple[int, ...]:
        """Return the shape of the array of so many dimensions."""
        elements = self.bytes // VALUE_BYTES
        return (max(round(elements ** (1 / ndim)), 1),) * ndim


def quick_options() -> Options:
    """Whether it works, not how good it is."""
    return Options(bytes=1 << 20, disks=DISKS[:1], mixes=3)


def needs(options: Options) -> dict[str, int]:
    """Bytes of disk and memory."""
    return {"disk": 3 * options.bytes, "memory": 3 * options.bytes}


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Mix after mix on each disk; `keep` is given what there is after each."""
    result: dict[str, Any] = {"cells": []}
    for disk in options.disks:
        engine = f"model:{disk}"
        conditions = Conditions(calibrate_modelled(engine, folder).core, engine=engine)
        for number, (ndim, texts) in enumerate(MIXES[: options.mixes]):
            print(
                f"layout: {disk}, mix {number + 1} of {options.mixes}: {', '.join(texts)}", file=sys.stderr, flush=True
            )
            result["cells"].append(_cell(options, folder, conditions, (disk, number, ndim, texts)))
            keep(result)
    return result


def _cell(
    options: Options, folder: str, conditions: Conditions, mix: tuple[str, int, int, tuple[str, ...]]
) -> dict[str, Any]:
    disk, number, ndim, texts = mix
    shape = options.shape(ndim)
    small = 64 << 10 if options.bytes >= 16 << 20 else 4 << 10
    advice = swath.advise_layout(
        texts,
        shape,
        "f8",
        ranks=RANKS,
        engine=conditions.engine,
        store=conditions.profile,
        chunk_bytes=(small, "64MiB"),
    )
    chosen = {one.name: one for one in advice.ranked[:BEST]}
    pricer = Pricer(shape, VALUE_BYTES, made.checked(texts, RANKS, shape), conditions)
    others = {"C order": Candidate(tuple(range(ndim))), "h5py": Candidate(tuple(range(ndim)), h5py_guess(shape))}
    for candidate in others.values():
        if candidate.name not in chosen:
            seconds = pricer.seconds(pricer.layout(candidate)) or ()
            chosen[candidate.name] = ranked(candidate, candidates.FORMATS, seconds, pricer.total(seconds))
    places = random.Random(options.seed * 1000 + number)
    asked = made.checked(texts, RANKS, shape, places=[places.random() for _ in range(3)])
    measured = []
    for layout in chosen.values():
        each = measured_seconds(layout, shape, asked, os.path.join(folder, "array"), conditions.engine)
        measured.append(
            {
                "layout": layout.name,
                "predicted": layout.total,
                "seconds": sum(s * access.times for s, access in zip(each, asked, strict=True)),
                "each": each,
            }
        )
    names = {"advised": advice.best.name, **{which: one.name for which, one in others.items()}}
    return {"disk": disk, "mix": list(texts), "shape": list(shape), **names, "measured": measured}


def h5py_guess(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the chunks that h5py gives a dataset where nobody says which (chunks=True)."""
    import h5py

    with h5py.File.in_memory() as file:
        return tuple(file.create_dataset("guess", shape, "f8", chunks=True).chunks)


def measured_seconds(
    layout: RankedLayout, shape: tuple[int, ...], asked: list[Operations], path: str, engine: str
) -> list[float]:
    """Return the seconds of each access, made once, of a file that has the layout."""
    path += ".bin" if layout.chunks is None else ".h5"
    how = {"shape": shape, "dtype": "f8", "order": layout.order} if layout.chunks is None else {}
    with swath.create(path, shape, "f8", overwrite=True, atomic=False, **layout.creation) as array:
        if layout.chunks is not None:
            array.write(np.zeros(shape, "f8"))
    try:
        return [_seconds_of(access, path, how, engine) for access in asked]
    finally:
        os.unlink(path)


def _seconds_of(access: Operations, path: str, how: dict[str, Any], engine: str) -> float:
    def work(comm: Any) -> float:
        options: dict[str, Any] = {"mode": "r+", "engine": engine, "streams": None, **how}
        with swath.open(path, comm=comm if access.ranks > 1 else None, **options) as array:
            seconds = []
            for selection in access.selections:
                chosen = tuple(_index(*one) for one in selection)
                values = None
                if access.direction == "write":
                    values = array.read(access.distribution, selection=chosen)
                comm.barrier()
                begin = _core.clock_now()
                if values is None:
                    array.read(access.distribution, selection=chosen)
                else:
                    array.write(values, access.distribution, selection=chosen)
                comm.barrier()
                seconds.append(_core.clock_now() - begin)
            return math.fsum(seconds) / len(seconds)

    return run_ranks(access.ranks, work)[0]


def _index(start: int, step: int, count: int, dropped: bool) -> Any:
    if dropped:
        return start
    stop = start + count * step
    return slice(start, stop if stop >= 0 else None, step)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """How many times longer than the best measured the advised layout takes, and the others."""
    rows = []
    for cell in result["cells"]:
        seconds = {one["layout"]: one["seconds"] for one in cell["measured"]}
        best = min(seconds, key=lambda name: seconds[name])
        row = {"disk": cell["disk"], "mix": cell["mix"], "best": best, "seconds": seconds[best]}
        for which in ("advised", "C order", "h5py"):
            row[which] = seconds[cell[which]] / seconds[best]
        row["layout"] = cell["advised"]
        rows.append(row)
    ratios = [row["advised"] for row in rows]
    return {"rows": rows, "within": sum(ratio <= WANTED for ratio in ratios), "of": len(rows), "most": max(ratios)}


def show(console: Console, result: dict[str, Any]) -> None:
    """The table, and the bottom line."""
    summarised = result["summary"]
    size = output.in_bytes(result["options"]["bytes"])
    console.print(Text(f"Layouts of arrays of {size}, on modelled disks; × the best that was measured", style="bold"))
    numbers = ("best, s", "advised", "h5py", "C order")
    table = output.table("disk", "accesses", "advised layout", *numbers, right=numbers)
    for row in summarised["rows"]:
        ratios = (f"{row[which]:.2f}" for which in ("advised", "h5py", "C order"))
        table.add_row(row["disk"], Text(", ".join(row["mix"])), row["layout"], f"{row['seconds']:.2f}", *ratios)
    console.print(table)
    console.print(
        Text(
            f"advised within {WANTED} x of the best in {summarised['within']} of {summarised['of']}; at most "
            f"{summarised['most']:.2f} x. Seconds are a model's, at places that were not priced.",
            style="bold",
        )
    )
