"""Advised layouts compared with the measured best ones: figure 7 of application-io-2002, for any accesses.

For each mix of accesses, files are made with the planner's best layouts, C order and the guesses of other libraries.
The accesses run on modelled disks, at positions that the planner did not price, in simulated time: seconds of the
disk, none of the processor. A disk is calibrated first, and the advice uses only its profile.

The disk "here" is that of the folder: real files, not cached, in real time, the processor's included, also with
compressed chunks; "cache" is the same in the page cache. The predictions of the planner are compared with the measured
seconds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
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
from swath.advice.search import Priced
from swath.base import units
from swath.calibration import FULL, QUICK, Effort, calibrate
from swath.calibration.modelled import calibrate_modelled
from swath.commands import output
from swath.errors import ArgumentError
from swath.simulated import run_ranks
from swath.store import page_cache
from swath_bench.peers.environments import Environments
from swath_bench.peers.running import Program, by_cell

VALUE_BYTES = 8
RANKS = 4
BEST = 10
PLACES = 24
"""Random positions at which each access is measured: the chunks that a window touches vary with the position."""
DISKS = ("p690-scsi", "p690-raid5")
HERE, CACHE = "here", "cache"
"""The disk of the folder, and its page cache, in real time. They measure fewer layouts, at fewer positions."""
BEST_HERE = 3
PLACES_HERE = 4
CODECS_HERE = "shuffle+zlib"
WANTED = 1.15
CHUNK_BYTES = 1 << 20
"""Chunk size for peers, which take a size and no accesses."""
PEERS = ("dynamic-chunks",)
SILENT_SECONDS = 120.0

_disks = itertools.count(1)

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
        bytes: approximate bytes of the array.
        disks: presets of modelled disks; "here" and "cache" are the folder's disk, and its page cache.
        mixes: number of the twenty mixes that are measured.
        seed: seed of the measured positions.
        peers: names from `PEERS`, whose chunk shapes are measured too.
    """

    bytes: int = 64 << 20
    disks: tuple[str, ...] = DISKS
    mixes: int = len(MIXES)
    seed: int = 1
    peers: tuple[str, ...] = ()

    in_one_process = True
    """It starts no processes, and needs no MPI."""

    def __post_init__(self) -> None:
        if not 1 <= self.mixes <= len(MIXES):
            raise ArgumentError(f"--mixes {self.mixes}: expected 1 to {len(MIXES)}")
        unknown = [name for name in self.peers if name not in PEERS]
        if unknown:
            raise ArgumentError(f"--peers {unknown[0]}: expected of {', '.join(PEERS)}")

    def shape(self, ndim: int) -> tuple[int, ...]:
        """Return the shape of the array of so many dimensions."""
        elements = self.bytes // VALUE_BYTES
        return (max(round(elements ** (1 / ndim)), 1),) * ndim


def quick_options() -> Options:
    """Small sizes: they test that the benchmark works, not the quality of the advice."""
    return Options(bytes=1 << 20, disks=DISKS[:1], mixes=3)


def needs(options: Options) -> dict[str, int]:
    """Bytes of disk and memory."""
    return {"disk": 3 * options.bytes, "memory": 3 * options.bytes}


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure mix after mix on each disk; `keep` gets the results after each."""
    result: dict[str, Any] = {"cells": [], "refused": {}}
    shapes = {options.shape(ndim) for ndim, _ in MIXES}
    chunks: dict[str, dict[tuple[int, ...], tuple[int, ...]]] = {}
    for peer in options.peers:
        found = chunks_of_peer(peer, sorted(shapes), folder)
        if isinstance(found, str):
            result["refused"][peer] = found
        else:
            chunks[peer] = found
    chunks["h5py"] = {shape: h5py_guess(shape) for shape in shapes}
    with tempfile.TemporaryDirectory(prefix="profiles-", dir=folder) as cache, _cache_folder(cache):
        for disk in options.disks:
            conditions = _calibrated(disk, folder, FULL if options.bytes >= 16 << 20 else QUICK)
            for number, (ndim, texts) in enumerate(MIXES[: options.mixes]):
                said = f"layout: {disk}, mix {number + 1} of {options.mixes}: {', '.join(texts)}"
                print(said, file=sys.stderr, flush=True)
                others = {name: of_shape[options.shape(ndim)] for name, of_shape in chunks.items()}
                result["cells"].append(
                    {"disk": disk, **_cell(options, folder, conditions, Mix(number, ndim, texts, others))}
                )
                keep(result)
    return result


def peer_names() -> tuple[str, ...]:
    """Return the peers that `--peers` without names selects."""
    return PEERS


def chunks_of_peer(
    peer: str, shapes: Sequence[tuple[int, ...]], folder: str
) -> dict[tuple[int, ...], tuple[int, ...]] | str:
    """Return the chunks that a peer gives arrays of these shapes, or why it gives none."""
    made = Environments().get(peer)
    if isinstance(made, str):
        return made
    program = Program(made, "dynamic_chunks", "chunks", SILENT_SECONDS)
    with tempfile.TemporaryDirectory(prefix="peer-", dir=folder) as own:
        lines, failed = program.run({"shapes": shapes, "dtype": "f8", "chunk_bytes": CHUNK_BYTES}, own)
    if failed:
        return failed
    return {shapes[index]: tuple(line["chunks"]) for index, line in by_cell(lines).items()}


@dataclasses.dataclass(frozen=True)
class Mix:
    """Accesses that are measured.

    Attributes:
        number: of the mix.
        ndim: dimensions of the array.
        texts: the accesses.
        others: the chunks that other libraries give the array.
    """

    number: int
    ndim: int
    texts: tuple[str, ...]
    others: dict[str, tuple[int, ...]]


@contextlib.contextmanager
def _cache_folder(path: str) -> Iterator[None]:
    """Put the user's cache folder there, so files are opened with the profiles that are measured here alone."""
    before = {name: os.environ.get(name) for name in ("XDG_CACHE_HOME", "SWATH_PROFILE")}
    os.environ["XDG_CACHE_HOME"] = path
    os.environ.pop("SWATH_PROFILE", None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _calibrated(disk: str, folder: str, effort: Effort) -> Conditions:
    """Return the conditions under which accesses of a disk are priced; keep its profile: opening files uses it."""
    is_real = disk in (HERE, CACHE)
    engine = "auto" if is_real else f"model:{disk}"
    profile = calibrate(folder, effort) if is_real else calibrate_modelled(engine, folder)
    profile.save()
    return Conditions(profile.core, cached=float(disk == CACHE), engine=engine)


def values_of(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Return a smooth field with noise, to three decimals: codecs make it several times smaller."""
    values = np.random.default_rng(1).normal(0, 0.01, shape)
    for wave in np.ix_(*(np.sin(np.arange(count) / (10 + 7 * d)) for d, count in enumerate(shape))):
        values += wave
    return values.round(3)


def _cell(options: Options, folder: str, conditions: Conditions, mix: Mix) -> dict[str, Any]:
    number, ndim, texts = mix.number, mix.ndim, mix.texts
    shape = options.shape(ndim)
    is_here = conditions.engine == "auto"
    values = values_of(shape) if is_here else np.zeros(shape, "f8")
    small = 64 << 10 if options.bytes >= 16 << 20 else 4 << 10
    advice = swath.advise_layout(
        texts,
        shape,
        "f8",
        ranks=RANKS,
        engine=conditions.engine,
        store=conditions.profile,
        cached=conditions.cached,
        chunk_bytes=(small, "64MiB"),
        formats=candidates.STRIDED_FORMATS,
        codecs=CODECS_HERE if is_here else None,
        sample=values if is_here else None,
    )
    best = [one for one in advice.ranked if not one.codecs][: BEST_HERE if is_here else BEST]
    best += [one for one in advice.ranked if one.codecs][:BEST_HERE]
    chosen = {one.name: one for one in (advice.best, *best)}
    pricer = Pricer(shape, VALUE_BYTES, made.checked(texts, RANKS, shape), conditions)
    order = tuple(range(ndim))
    others = {"C order": Candidate(order), **{name: Candidate(order, chunks) for name, chunks in mix.others.items()}}
    for candidate in others.values():
        if candidate.name not in chosen:
            seconds = pricer.seconds(candidate) or ()
            priced = Priced(candidate, seconds, pricer.total(seconds))
            chosen[candidate.name] = ranked(priced, candidates.FORMATS, shape, VALUE_BYTES)
    places = random.Random(options.seed * 1000 + number)
    count = PLACES_HERE if is_here else PLACES
    asked = made.checked(texts, RANKS, shape, places=[[places.random() for _ in shape] for _ in range(count)])
    measured = []
    for layout in chosen.values():
        each = measured_seconds(layout, values, asked, os.path.join(folder, "array"), conditions)
        measured.append(
            {
                "layout": layout.name,
                "is_coded": bool(layout.codecs),
                "predicted": layout.total,
                "seconds": sum(s * access.times for s, access in zip(each, asked, strict=True)),
                "each": each,
            }
        )
    names = {"advised": advice.best.name, **{which: one.name for which, one in others.items()}}
    return {"mix": list(texts), "shape": list(shape), **names, "measured": measured}


def h5py_guess(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the chunks that h5py chooses for a dataset by itself (chunks=True)."""
    import h5py

    with h5py.File.in_memory() as file:
        return tuple(file.create_dataset("guess", shape, "f8", chunks=True).chunks)


def measured_seconds(
    layout: RankedLayout, values: npt.NDArray[np.float64], asked: list[Operations], path: str, conditions: Conditions
) -> list[float]:
    """Return the seconds of each access, made once, to a file that has the layout and the values."""
    path += ".bin" if layout.chunks is None else ".h5"
    shape, is_here = values.shape, conditions.engine == "auto"
    if not is_here:
        # A disk identifies a file by its inode, which may be that of a file before: each file has a separate disk.
        conditions = dataclasses.replace(conditions, engine=f"{conditions.engine}@{next(_disks)}")
    how = {"shape": shape, "dtype": "f8", "order": layout.order} if layout.chunks is None else {}
    with swath.create(path, shape, "f8", overwrite=True, atomic=False, **layout.creation) as array:
        if layout.chunks is not None or is_here:
            array.write(values)
    try:
        return [_seconds_of(access, path, how, conditions) for access in asked]
    finally:
        os.unlink(path)


def _seconds_of(access: Operations, path: str, how: dict[str, Any], conditions: Conditions) -> float:
    is_here = conditions.engine == "auto"
    clock = time.perf_counter if is_here else _core.clock_now

    def work(comm: Any) -> float:
        options: dict[str, Any] = {"mode": "r+", "engine": conditions.engine, "streams": None, **how}
        with swath.open(path, comm=comm if access.ranks > 1 else None, **options) as array:
            seconds = []
            for selection in access.selections:
                chosen = tuple(_index(*one) for one in selection)
                values = None
                if access.direction == "write":
                    values = array.read(access.distribution, selection=chosen)
                comm.barrier()
                if is_here and conditions.cached == 0 and comm.rank == 0:
                    page_cache.evict(path)
                comm.barrier()
                begin = clock()
                if values is None:
                    array.read(access.distribution, selection=chosen)
                else:
                    array.write(values, access.distribution, selection=chosen)
                comm.barrier()
                seconds.append(clock() - begin)
            return math.fsum(seconds) / len(seconds)

    return run_ranks(access.ranks, work)[0]


def _index(start: int, step: int, count: int, dropped: bool) -> Any:
    if dropped:
        return start
    stop = start + count * step
    return slice(start, stop if stop >= 0 else None, step)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return the time of the advised layout, and of the others, divided by the best measured one."""
    rows = []
    for cell in result["cells"]:
        seconds = {one["layout"]: one["seconds"] for one in cell["measured"]}
        best = min(seconds, key=lambda name: seconds[name])
        row = {"disk": cell["disk"], "mix": cell["mix"], "best": best, "seconds": seconds[best]}
        for which in ("advised", "C order", "h5py", *PEERS):
            row[which] = seconds[cell[which]] / seconds[best] if which in cell else None
        row["layout"] = cell["advised"]
        rows.append(row)
    ratios = [row["advised"] for row in rows]
    errors = {
        kind: statistics.median(abs(one["predicted"] / one["seconds"] - 1) for one in ones)
        for kind, ones in _measured_by_kind(result).items()
    }
    within = sum(ratio <= WANTED for ratio in ratios)
    return {"errors": errors, "rows": rows, "within": within, "of": len(rows), "most": max(ratios)}


def _measured_by_kind(result: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the measurements by disk; those of compressed chunks are separate."""
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in result["cells"]:
        for one in cell["measured"]:
            found.setdefault(cell["disk"] + (", compressed" if one["is_coded"] else ""), []).append(one)
    return found


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the table and the conclusion."""
    summarised = result["summary"]
    size = units.in_bytes(result["options"]["bytes"])
    console.print(Text(f"Layouts of arrays of {size}; × the best that was measured", style="bold"))
    named = [which for which in ("advised", "h5py", *PEERS, "C order") if summarised["rows"][0][which] is not None]
    numbers = ("best, s", *named)
    table = output.table("disk", "accesses", "advised layout", *numbers, right=numbers)
    for row in summarised["rows"]:
        ratios = (f"{row[which]:.2f}" for which in named)
        table.add_row(row["disk"], Text(", ".join(row["mix"])), row["layout"], f"{row['seconds']:.2f}", *ratios)
    console.print(table)
    for peer, why in result["refused"].items():
        console.print(Text(f"{peer}: {why}"))
    console.print(
        Text(
            f"advised within {WANTED} x of the best in {summarised['within']} of {summarised['of']}; at most "
            f"{summarised['most']:.2f} x. No place was priced; seconds are a model's, but for {HERE} and {CACHE}.",
            style="bold",
        )
    )
    for kind, error in summarised["errors"].items():
        console.print(Text(f"{kind}: predicted beside measured seconds, median error {100 * error:.0f} %"))
