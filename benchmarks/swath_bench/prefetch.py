"""Loops that read ahead: the computing per block varies from none to more than the time of reading.

The benchmark runs on modelled disks, in real time, and on this machine's disk, cold. It compares Swath's `blocks` with
prefetch="auto" and without, a hand-written loop with one thread that reads the next block, and torch's DataLoader with
one worker, if torch is installed (on the machine's disk only: its worker is another process, and would have another
modelled disk). It also measures all reading alone, and all computing alone. The best possible time is the larger of
both, plus the first block, which cannot be overlapped.

The computing is a fixed amount of work, not a fixed time, so a contender that disturbs it pays for that.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import swath
from swath.base import units
from swath.commands import output
from swath.errors import InternalError
from swath.ranks.ranks import ranks_of
from swath_bench.measure import say, shuffled

MACHINE = "this machine"
READING, COMPUTING = "reading alone", "computing alone"
WITHOUT, AUTO, HAND, TORCH = "Swath, prefetch=0", 'Swath, prefetch="auto"', "by hand, one thread", "torch DataLoader"
WORK_ELEMENTS = 8192


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        disks: presets of modelled disks, and "this machine".
        ratios: ratios of computing to reading a block.
        blocks: number of blocks of a loop.
        bytes: bytes of a block.
        repetitions: number of counted repetitions.
    """

    disks: tuple[str, ...] = ("xeon-eide", "p690-scsi", "p690-raid5", MACHINE)
    ratios: tuple[float, ...] = (0.0, 0.25, 0.5, 1.0, 2.0)
    blocks: int = 24
    bytes: int = 1 << 20
    repetitions: int = 3

    in_one_process = True


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(disks=("p690-raid5", MACHINE), ratios=(0.0, 1.0), blocks=6, bytes=1 << 18, repetitions=1)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory."""
    size = options.blocks * options.bytes
    return {"disk": size, "memory": 2 * size + (256 << 20)}


class Work:
    """A fixed amount of computing for each block."""

    def __init__(self) -> None:
        self._numbers = np.linspace(0.0, 1.0, WORK_ELEMENTS)
        self._out = np.empty_like(self._numbers)
        begun = time.perf_counter()
        self.do(400)
        self._seconds = (time.perf_counter() - begun) / 400

    def turns(self, seconds: float) -> int:
        """Return the amount of work that takes this time on an undisturbed core."""
        return round(seconds / self._seconds)

    def do(self, turns: int) -> None:
        """Compute."""
        for _ in range(turns):
            np.sin(self._numbers, out=self._out)


class Files:
    """The file, as each contender iterates over it."""

    def __init__(self, path: str, options: Options, disk: str) -> None:
        self._path = path
        self._shape = (options.blocks, options.bytes // 8)
        self._engine = None if disk == MACHINE else f"model:{disk}"
        self.ways: dict[str, Callable[[Callable[[Any], None]], str]] = {
            READING: lambda compute: self._swath(lambda _: None, 0),
            COMPUTING: self._compute,
            WITHOUT: lambda compute: self._swath(compute, 0),
            AUTO: lambda compute: self._swath(compute, "auto"),
            HAND: self._by_hand,
        }
        if disk == MACHINE and importlib.util.find_spec("torch") is not None:
            self.ways[TORCH] = self._torch

    def make_cold(self) -> None:
        """Take the file out of the page cache."""
        with open(self._path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def _open(self) -> Any:
        return swath.open(self._path, shape=self._shape, dtype="<f8", engine=self._engine)

    def _swath(self, compute: Callable[[Any], None], prefetch: Any) -> str:
        with self._open() as a:
            loop = a.blocks((1, None), prefetch=prefetch)
            for _, values in loop:
                compute(values)
            return str(loop.reason)

    def _compute(self, compute: Callable[[Any], None]) -> str:
        values = np.zeros((1, self._shape[1]))
        for i in range(self._shape[0]):
            values[...] = i
            compute(values)
        return ""

    def _by_hand(self, compute: Callable[[Any], None]) -> str:
        with self._open() as a, ThreadPoolExecutor(1) as executor:
            following = executor.submit(a.__getitem__, np.s_[0:1])
            for i in range(self._shape[0]):
                values = following.result()
                if i + 1 < self._shape[0]:
                    following = executor.submit(a.__getitem__, np.s_[i + 1 : i + 2])
                compute(values)
        return ""

    def _torch(self, compute: Callable[[Any], None]) -> str:
        torch: Any = importlib.import_module("torch")
        data: Any = importlib.import_module("torch.utils.data")
        rows = self._shape[0]
        opened = np.memmap(self._path, dtype="<f8", mode="r", shape=self._shape)

        class Rows(data.Dataset):  # type: ignore[misc]
            def __len__(self) -> int:
                return rows

            def __getitem__(self, i: int) -> Any:
                return torch.from_numpy(np.array(opened[i : i + 1]))

        for values in data.DataLoader(Rows(), batch_size=None, num_workers=1, prefetch_factor=2):
            compute(values.numpy())
        return ""


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure all cases, in this process."""
    path = os.path.join(folder, f"swath-bench-prefetch-{os.getpid()}.raw")
    told: dict[str, Any] = {"measurements": []}
    try:
        np.repeat(np.arange(options.blocks, dtype="<f8"), options.bytes // 8).tofile(path)
        for disk in options.disks:
            told["measurements"] += _of_disk(Files(path, options, disk), options, disk)
            keep(told)
    finally:
        if os.path.exists(path):
            os.remove(path)
    return told


def _of_disk(files: Files, options: Options, disk: str) -> list[dict[str, Any]]:
    work = Work()
    files.make_cold()
    begun = time.perf_counter()
    files.ways[READING](lambda _: None)
    reading = (time.perf_counter() - begun) / options.blocks
    measurements = []
    for ratio in options.ratios:
        turns = work.turns(ratio * reading)
        say(ranks_of(None), f"prefetch: {disk}: computing {ratio} of reading, {options.repetitions} repetitions")
        for repetition in range(options.repetitions + 1):
            for name, way in shuffled(list(files.ways.items()), repetition):
                files.make_cold()
                seconds, reason = _timed(way, work, turns, options, name)
                if repetition > 0:
                    row = {"disk": disk, "ratio": ratio, "contender": name, "seconds": seconds, "reason": reason}
                    measurements.append(row)
    return measurements


def _timed(way: Callable[..., str], work: Work, turns: int, options: Options, name: str) -> tuple[float, str]:
    """Return the seconds of a loop. Raises InternalError if the values were wrong."""
    seen: list[float] = []

    def compute(values: Any) -> None:
        seen.append(float(values[0, 0] + values[0, -1]))
        work.do(turns)

    begun = time.perf_counter()
    reason = way(compute)
    seconds = time.perf_counter() - begun
    if name != READING and seen != [2.0 * i for i in range(options.blocks)]:
        raise InternalError(f"prefetch: {name}: wrong values")
    return seconds, reason


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return the medians, and each divided by the best possible: the larger of both alone, plus the first block."""
    seconds: dict[tuple[str, float, str], list[float]] = {}
    reasons: dict[tuple[str, float, str], str] = {}
    for m in result["measurements"]:
        key = m["disk"], m["ratio"], m["contender"]
        seconds.setdefault(key, []).append(m["seconds"])
        reasons[key] = m["reason"]
    blocks = result["options"]["blocks"]
    rows = []
    for (disk, ratio, name), of in seconds.items():
        reading, computing = (statistics.median(seconds[disk, ratio, one]) for one in (READING, COMPUTING))
        bound = max(reading, computing) + reading / blocks
        median = statistics.median(of)
        row = {"disk": disk, "ratio": ratio, "contender": name, "seconds": median, "of_bound": median / bound}
        rows.append({**row, "reason": reasons[disk, ratio, name]})
    return {"rows": rows}


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the tables, how it was measured, and the decisions of auto."""
    options, rows = result["options"], result["summary"]["rows"]
    names = list(dict.fromkeys(row["contender"] for row in rows))
    for disk in options["disks"]:
        model = "" if disk == MACHINE else ", modelled"
        size = units.in_bytes(options["bytes"])
        console.print(Text(f"{disk}{model}: {options['blocks']} blocks of {size}; s (÷ bound)", style="bold"))
        ratios = [str(ratio) for ratio in options["ratios"]]
        table = output.table("computing ÷ reading", *ratios, right=tuple(ratios))
        for name in names:
            of = {row["ratio"]: row for row in rows if (row["disk"], row["contender"]) == (disk, name)}
            cells = [f"{of[r]['seconds']:.2f} ({of[r]['of_bound']:.2f})" if r in of else "" for r in options["ratios"]]
            table.add_row(Text(name), *cells)
        console.print(table)
        for row in rows:
            if (row["disk"], row["contender"]) == (disk, AUTO):
                console.print(Text(f"auto at {row['ratio']}: {row['reason']}", style="dim"), soft_wrap=True)
        console.print()
    console.print(
        Text(
            f"Medians of {options['repetitions']} repetitions after one that does not count, contenders in turn, the "
            "file out of the page cache before each.\nBound: the larger of reading alone and computing alone, and the "
            "first block.",
            style="dim",
        ),
        soft_wrap=True,
    )
