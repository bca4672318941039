"""A Fourier transform of a file larger than memory: the effect of the layout of the intermediate file.

The cases are those of Kandaswamy et al. 2002, section 4.5 and figure 7 (IEEE TPDS 13(12), 1303-1319). An array in
column-major order is transformed along its columns into a second one, and this along its rows into the result. The
second one and the result are column-major, too, or row-major; a further case is Swath's own choice. The *floor* reads
the source, writes and reads the bytes of the intermediate file, and writes the result,
each in one sequential stream; it is measured in the same run, on the same disk.

In this folder the source is dropped from the page cache first; modelled disks are engines, in real time. With `--peers`
dask.array.fft and cubed transform a Zarr store of the same numbers in this folder, in separate environments.
Results are compared with scipy.fft if the array is small, else some rows are compared with their known sums.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks
from swath.store.standalone import page_cache
from swath_bench import launch
from swath_bench.measure import WrongDataError, say
from swath_bench.peers.environments import Environments
from swath_bench.peers.running import Program
from swath_bench.standalone import memory_watch

MIB = 1 << 20
VALUE_BYTES = 16
PIECE_BYTES = 8 * MIB
HERE = "this folder"
FLOOR = "floor"
CASES: dict[str, dict[str, Any]] = {
    "both column-major": {"between": "F", "order": "F"},
    "one row-major": {"between": "C", "order": "C"},
    "Swath": {"order": "fast"},
}
PEERS = {"dask": "dask.array.fft", "cubed": "cubed"}
TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: numbers of ranks that share a transform, each in separate runs.
        bytes: bytes of the source, complex numbers of 16 bytes.
        memory: the budget of all ranks together, in bytes.
        repetitions: number of repetitions of each contender.
        disks: presets of modelled disks; () for this folder alone.
        peers: names from `PEERS`.
        limit_seconds: a peer that takes longer is ended.
        job: the work of the ranks of one run; the benchmark sets it.
    """

    ranks: tuple[int, ...] = (1,)
    bytes: int = 3 << 29
    memory: int = 256 * MIB
    repetitions: int = 3
    disks: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    limit_seconds: float = 600.0
    job: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.peers if name not in PEERS]
        if unknown:
            raise ArgumentError(f"--peers {unknown[0]}: expected of {', '.join(PEERS)}")
        if self.bytes < VALUE_BYTES * 64:
            raise ArgumentError(f"--bytes {self.bytes}: expected at least {VALUE_BYTES * 64}")

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the array: about square, with lengths of small factors: 12288 by 8192 for 1.5 GiB."""
        columns = 1 << int(self.bytes // VALUE_BYTES).bit_length() // 2
        return self.bytes // VALUE_BYTES // columns, columns


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=4 * MIB, memory=2 * MIB, repetitions=1)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory."""
    return {"disk": (6 if options.peers else 4) * options.bytes, "memory": 2 * options.memory + 256 * MIB}


def peer_names() -> tuple[str, ...]:
    """Return the peers that `--peers` without names selects."""
    return tuple(PEERS)


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure every contender in a separate process, one after the other; `keep` gets the results after each."""
    told: dict[str, Any] = {"measurements": [], "versions": {}}
    environments = Environments()

    def on_ranks(ranks: int, job: dict[str, Any]) -> dict[str, Any]:
        own = dataclasses.asdict(dataclasses.replace(options, ranks=(ranks,), peers=(), job=job))
        return launch.run_on_ranks("fft", ranks, own, folder)

    on_ranks(1, {"contender": "make", "disk": HERE, "repetition": 0})
    for disk in options.disks or (HERE,):
        for repetition in range(1, options.repetitions + 1):
            for contender in (FLOOR, *CASES):
                for ranks in (1,) if contender == FLOOR else options.ranks:
                    job = {"contender": contender, "disk": disk, "repetition": repetition}
                    told["measurements"].append({**job, "ranks": ranks, **on_ranks(ranks, job)})
                    keep(told)
            for peer in options.peers if disk == HERE else ():
                job = {"contender": PEERS[peer], "disk": disk, "repetition": repetition, "ranks": 1}
                told["measurements"].append({**job, **_measured_peer(peer, options, folder, environments, told)})
                keep(told)
    return told


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. One job."""
    folder, job = os.path.dirname(path), options.job
    source, target = os.path.join(folder, "a.npy"), os.path.join(folder, "b.npy")
    if job["contender"] == "make":
        _make(source, options.shape)
        return {}
    say(ranks, f"fft: {job['disk']}: {job['contender']}, {ranks.size} ranks, repetition {job['repetition']}")
    engine = None if job["disk"] == HERE else f"model:{job['disk']}"
    if ranks.rank == 0:
        with page_cache.opened(source) as fd:
            page_cache.drop(fd)
    _warm_up(folder, ranks)
    if job["contender"] == FLOOR:
        return {"seconds": _floor(source, target, options.shape, engine)}
    with memory_watch.watched() as peak:
        done = swath.fftn(
            source, target, memory=options.memory // ranks.size, comm=ranks, engine=engine, **CASES[job["contender"]]
        )
    peaks = ranks.gather_objects(peak[0])
    if ranks.rank == 0:
        _check(source, target)
        os.unlink(target)
    ranks.comm.barrier()
    return {"seconds": done.seconds, "peak_bytes": sum(peaks), "done": done.to_dict()}


def _warm_up(folder: str, ranks: Ranks) -> None:
    """Collective. Transform a small array to load scipy: dask and cubed load their libraries before the clock, too."""
    small, made = (os.path.join(folder, name) for name in ("small.npy", "small.out.npy"))
    if ranks.rank == 0:
        np.save(small, np.zeros((64, 64)))
    ranks.comm.barrier()
    swath.fftn(small, made, memory=1 << 20, comm=ranks, overwrite=True)


def _make(path: str, shape: tuple[int, int]) -> None:
    dice = np.random.default_rng(0)
    with swath.create(path, shape, "<c16", order="F", overwrite=True) as a:
        step = max(PIECE_BYTES // (shape[0] * VALUE_BYTES), 1)
        for column in range(0, shape[1], step):
            values = dice.standard_normal((min(step, shape[1] - column), shape[0], 2)).view("<c16")[..., 0]
            a.write(values.T, selection=np.s_[:, column : column + step])


def _floor(source: str, target: str, shape: tuple[int, int], engine: str | None) -> float:
    """Return the seconds of reading, writing, reading and writing the bytes of the array, each in one stream."""
    nbytes = shape[0] * shape[1] * VALUE_BYTES
    between = target + ".between"
    begin = time.perf_counter()
    for read, written in ((source, between), (between, target)):
        offset = os.path.getsize(source) - nbytes if read == source else 0
        with open(written, "wb") as file:
            file.truncate(nbytes)
        how: dict[str, Any] = {"shape": nbytes, "dtype": "u1", "format": "raw", "engine": engine}
        with swath.open(read, offset=offset, **how) as a, swath.open(written, mode="r+", **how) as b:
            for first in range(0, nbytes, PIECE_BYTES):
                piece = np.s_[first : min(first + PIECE_BYTES, nbytes)]
                b.write(a.read(selection=piece), selection=piece)
            if written == target:
                b.sync()
    seconds = time.perf_counter() - begin
    os.unlink(between)
    os.unlink(target)
    return seconds


def _check(source: str, target: str) -> None:
    """Raise WrongDataError unless rows of the result are the right transforms."""
    a, b = np.load(source, mmap_mode="r"), np.load(target, mmap_mode="r")
    rows, columns = a.shape
    for row in (0, 1, rows // 2, rows - 1):
        phases = np.exp(-2j * np.pi * (row * np.arange(rows) % rows) / rows)
        line = np.empty(columns, "c16")
        step = max(PIECE_BYTES // (rows * VALUE_BYTES), 1)
        for column in range(0, columns, step):
            line[column : column + step] = phases @ a[:, column : column + step]
        expected = np.fft.fft(line)
        if np.abs(b[row] - expected).max() > TOLERANCE * np.abs(expected).max():
            raise WrongDataError(f"fft: row {row} of {target} is wrong")


def _measured_peer(
    peer: str, options: Options, folder: str, environments: Environments, told: dict[str, Any]
) -> dict[str, Any]:
    """Return the figures of a peer; "refused" has the reason if it did not finish."""
    made = environments.get(peer)
    if isinstance(made, str):
        return {"refused": made}
    told["versions"][peer] = made.versions
    print(f"fft: {HERE}: {PEERS[peer]}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix=f"{peer}-", dir=folder) as own:
        store = os.path.join(os.path.abspath(own), "a.zarr")
        rows = options.shape[0]
        chunks = (rows, max(min(PIECE_BYTES, options.memory // 16) // (rows * VALUE_BYTES), 1))
        swath.copy(os.path.join(folder, "a.npy"), store, chunks=chunks, codecs=[], format="zarr:v2")
        request: dict[str, Any] = {
            "source": store,
            "target": os.path.join(os.path.abspath(own), "b.zarr"),
            "scratch": os.path.join(os.path.abspath(own), "scratch"),
            "shape": options.shape,
            "memory": options.memory,
            "workers": len(os.sched_getaffinity(0)),
        }
        lines, failed = Program(made, "fft", peer, options.limit_seconds).run(request, own)
        said = {name: value for line in lines for name, value in line.items()}
        if failed or "seconds" not in said:
            return {"refused": said.get("failed", failed) or "measured nothing"}
        result = os.path.join(own, "b.npy")
        try:
            swath.copy(request["target"], result)
            _check(os.path.join(folder, "a.npy"), result)
        except (WrongDataError, swath.Error) as error:
            return {"refused": str(error)}
        shutil.rmtree(request["target"])
    return {"seconds": said["seconds"], "peak_bytes": said["peak_bytes"]}


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return for each disk and contender the median, its ratio to the floor, and its memory; and the refusals."""
    measured = [m for m in result["measurements"] if not m.get("refused")]
    rows = []
    for key in dict.fromkeys((m["disk"], m["contender"], m["ranks"]) for m in measured):
        own = [m for m in measured if (m["disk"], m["contender"], m["ranks"]) == key]
        floor = [m["seconds"] for m in measured if m["disk"] == key[0] and m["contender"] == FLOOR]
        row = dict(zip(("disk", "contender", "ranks"), key, strict=True))
        row["seconds"] = statistics.median(m["seconds"] for m in own)
        row["low"], row["high"] = min(m["seconds"] for m in own), max(m["seconds"] for m in own)
        if key[1] != FLOOR:
            row["peak_bytes"] = max(m["peak_bytes"] for m in own)
            row["of_memory"] = row["peak_bytes"] / result["options"]["memory"]
            if floor:
                row["of_floor"] = row["seconds"] / statistics.median(floor)
        rows.append(row)
    refused = {m["contender"]: m["refused"] for m in result["measurements"] if m.get("refused")}
    return {"rows": rows, "refused": refused}


def show(console: Console, result: dict[str, Any]) -> None:
    """Print one table, and the refused contenders."""
    options = result["options"]
    size, memory = units.in_bytes(options["bytes"]), units.in_bytes(options["memory"])
    console.print(Text(f"Fourier transforms of {size} within {memory}", style="bold"))
    numbers = ("seconds", "range", "÷ floor", "memory")
    table = output.table("disk", "", *numbers, right=numbers)
    for row in result["summary"]["rows"]:
        disk = row["disk"] if row["disk"] == HERE else f"{row['disk']} (modelled)"
        who = row["contender"] + (f", {row['ranks']} ranks" if row["ranks"] > 1 else "")
        memory = f"{units.in_bytes(row['peak_bytes'])} ({row['of_memory']:.2f})" if "peak_bytes" in row else ""
        table.add_row(
            Text(disk),
            Text(who),
            f"{row['seconds']:.2f}",
            f"{row['low']:.2f}–{row['high']:.2f}",
            f"{row['of_floor']:.2f}" if "of_floor" in row else "",
            memory,
        )
    console.print(table)
    for who, why in result["summary"]["refused"].items():
        console.print(Text(f"{who}: refused: {why}"), soft_wrap=True)
