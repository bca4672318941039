"""Copies in bounded memory: a transpose and a tiling, compared with the floor and with a tuned NumPy loop.

The *floor* is one sequential read and one sequential write of the same bytes with the same sync; it is measured before
and after. The source is dropped from the page cache before every timed run; the kernel counts the bytes that were read
from the device (/proc/self/io). Memory is anonymous memory and shared windows (RssAnon and RssShmem of
/proc/self/status, polled every 5 ms) in addition to the idle process. Every result is compared with the source.

`--peers` adds TensorStore, zarr-python, dask, rechunker and cubed, see `copy_peers`.

`--grid` compares predicted with measured seconds and memory, over sizes, budgets and kinds of copies.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import output
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks
from swath_bench import copy_peers, launch
from swath_bench.copy_contenders import FLOOR, PANELS, SWATH, execute

MIB = 1 << 20
VALUE_BYTES = 8
CASES = ("transpose", "tile", "convert")
TIMED_CASES = ("transpose", "tile")
KEPT_PART = 1.1
"""Factor of the budget: a peer with a higher peak has not kept the budget."""
GRID_PARTS = (1.0, 0.25)
GRID_MEMORY = (1.0, 0.25)
"""The points of the grid, as parts of --bytes and --memory."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes of the benchmark.

    Attributes:
        ranks: numbers of ranks that share a copy, each in separate runs.
        bytes: bytes of the source.
        memory: the budget of all ranks together, in bytes.
        chunk: elements of a tile along each dimension.
        repetitions: number of counted repetitions, each with every contender.
        grid: whether to compare predicted with measured figures over a grid, instead of contenders.
        peers: names of `copy_peers.NAMES`, which are measured, too.
        limit_seconds: a copy of a peer that takes longer is ended.
        job: the work of the ranks of one run; the benchmark sets it.
    """

    ranks: tuple[int, ...] = (1,)
    bytes: int = 6 << 30
    memory: int = 256 * MIB
    chunk: int = 512
    repetitions: int = 3
    grid: bool = False
    peers: tuple[str, ...] = ()
    limit_seconds: float = 600.0
    job: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.bytes < 64 * self.chunk * self.chunk or self.bytes % (VALUE_BYTES * self.columns):
            raise ArgumentError(
                f"--bytes {self.bytes}: expected at least {64 * self.chunk**2} with --chunk {self.chunk}, and whole "
                f"rows of {self.columns} numbers"
            )
        copy_peers.contenders_of(self.peers)
        if self.peers and self.grid:
            raise ArgumentError("--peers: a grid compares Swath with its own predictions; leave out --grid or --peers")
        if not self.limit_seconds > 0:
            raise ArgumentError(f"--limit-seconds {self.limit_seconds:g}: expected more than 0")

    @property
    def columns(self) -> int:
        """Columns of the source: a power of two, at most a third more than there are rows."""
        return 1 << round(math.log2(math.sqrt(self.bytes / VALUE_BYTES * 4 / 3)))

    @property
    def shape(self) -> tuple[int, int]:
        """Of the source."""
        return self.bytes // VALUE_BYTES // self.columns, self.columns


def quick_options() -> Options:
    """Small sizes for a quick run, and for tests."""
    return Options(bytes=24 * MIB, memory=8 * MIB, chunk=64, repetitions=1)


def needs(options: Options) -> dict[str, int]:
    """Return the needed bytes of disk and memory."""
    # Peers: the source once more as a Zarr store, a target, and up to two stages of rechunker and cubed between them.
    return {"disk": (6 if options.peers else 3) * options.bytes, "memory": 2 * options.memory + 256 * MIB}


def peer_names() -> tuple[str, ...]:
    """Return the peers that `--peers` without names selects."""
    return copy_peers.NAMES


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Every contender in its own process, one after the other; `keep` gets the results after each."""
    peers = copy_peers.Peers(folder, options.limit_seconds)
    told: dict[str, Any] = {"measurements": [], "versions": peers.versions}
    for ranks, job in _jobs(options):
        if job["contender"] in copy_peers.CONTENDERS:
            found = peers.measure(job, options.shape, options.chunk)
        else:
            own = dataclasses.asdict(dataclasses.replace(options, ranks=(ranks,), peers=(), job=job))
            found = launch.run_on_ranks("copy", ranks, own, folder)
        told["measurements"].append({**job, "ranks": ranks, **found})
        keep(told)
        if job["contender"] == "make" and options.peers:
            peers.prepare(options.peers, job["memory"], options.shape)
    return told


def _jobs(options: Options) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return (ranks, job): the source is made first, and again when its size changes."""
    if options.grid:
        for part in GRID_PARTS:
            size = round(options.bytes * part) // (VALUE_BYTES * options.columns) * VALUE_BYTES * options.columns
            yield 1, _job("make", "", 0, size, options.memory)
            for case, memory, repetition in itertools.product(CASES, GRID_MEMORY, range(options.repetitions)):
                yield 1, _job(SWATH, case, repetition + 1, size, round(options.memory * memory))
        return
    yield 1, _job("make", "", 0, options.bytes, options.memory)
    for case in TIMED_CASES:
        for repetition in range(options.repetitions + 1):
            yield 1, _job(FLOOR, case, repetition, options.bytes, options.memory)
            for ranks in options.ranks:
                yield ranks, _job(SWATH, case, repetition, options.bytes, options.memory)
            for panel in PANELS:
                if case in PANELS[panel]:
                    yield 1, _job(panel, case, repetition, options.bytes, options.memory)
            # Each copy of a peer has a separate process and a cold cache: there is nothing to warm up.
            for contender in copy_peers.contenders_of(options.peers) if repetition else ():
                yield 1, _job(contender, case, repetition, options.bytes, options.memory)
        yield 1, _job(FLOOR, case, options.repetitions + 1, options.bytes, options.memory)


def _job(contender: str, case: str, repetition: int, size: int, memory: int) -> dict[str, Any]:
    return {"contender": contender, "case": case, "repetition": repetition, "bytes": size, "memory": memory}


def run(ranks: Ranks, path: str, options: Options) -> dict[str, Any]:
    """Collective. One job."""
    columns = options.columns
    shape = (options.job["bytes"] // VALUE_BYTES // columns, columns)
    return execute(ranks, os.path.dirname(path), options.job, shape, options.chunk)


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Of each case and contender the median; ratios to floor, budget, loops, peers; predicted by measured; refusals."""
    measured = [m for m in result["measurements"] if not m.get("refused")]
    counted = [m for m in measured if m["repetition"] > 0 and m["case"]]
    rows = []
    for key in dict.fromkeys((m["case"], m["contender"], m["ranks"], m["bytes"], m["memory"]) for m in counted):
        own = [m for m in counted if (m["case"], m["contender"], m["ranks"], m["bytes"], m["memory"]) == key]
        row = dict(zip(("case", "contender", "ranks", "bytes", "memory"), key, strict=True))
        for name in ("seconds", "sync_seconds", "peak_bytes", "device_bytes", "predicted_seconds", "predicted_bytes"):
            values = [m[name] for m in own if m.get(name) is not None]
            if values:
                row[name] = statistics.median(values)
        row["low"], row["high"] = min(m["seconds"] for m in own), max(m["seconds"] for m in own)
        if row["contender"] == SWATH or row["contender"] in copy_peers.CONTENDERS:
            row["of_memory"] = row["peak_bytes"] / row["memory"]
            row["kept_budget"] = row["of_memory"] <= KEPT_PART
        rows.append(row)
    for row in rows:
        of_case = [r for r in rows if r["case"] == row["case"]]
        for name, others in (("of_floor", [FLOOR]), ("of_best_loop", list(PANELS))):
            seconds = [r["seconds"] for r in of_case if r["contender"] in others]
            if seconds and row["contender"] != FLOOR:
                row[name] = row["seconds"] / min(seconds)
        if row["contender"] == SWATH:
            row.update(_beside_peers(row, of_case))
            row["seconds_error"] = abs(row["predicted_seconds"] / row["seconds"] - 1)
            row["memory_error"] = abs(row["predicted_bytes"] / max(row["peak_bytes"], 1) - 1)
    ours = [row for row in rows if row["contender"] == SWATH]
    refused = {(m["case"], m["contender"]): m["refused"] for m in result["measurements"] if m.get("refused")}
    return {
        "rows": rows,
        "refused": [{"case": case, "contender": who, "reason": why} for (case, who), why in refused.items()],
        "median_seconds_error": statistics.median(r["seconds_error"] for r in ours) if ours else None,
        "worst_seconds_error": max((r["seconds_error"] for r in ours), default=None),
        "median_memory_error": statistics.median(r["memory_error"] for r in ours) if ours else None,
        "worst_memory_error": max((r["memory_error"] for r in ours), default=None),
    }


def _beside_peers(ours: dict[str, Any], of_case: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fastest peer of all, the fastest that kept the budget, and the ratio of our time to theirs."""
    peers = [row for row in of_case if row["contender"] in copy_peers.CONTENDERS]
    found: dict[str, Any] = {}
    for name, among in (("any", peers), ("in_budget", [row for row in peers if row["kept_budget"]])):
        if among:
            best = min(among, key=lambda row: float(row["seconds"]))
            found[f"best_peer_{name}"] = best["contender"]
            found[f"of_best_peer_{name}"] = ours["seconds"] / best["seconds"]
    return found


def show(console: Console, result: dict[str, Any]) -> None:
    """Print one table, sentences on the peers, and the quality of the predictions."""
    summary = result["summary"]
    size, memory = (units.in_bytes(result["options"][name]) for name in ("bytes", "memory"))
    console.print(Text(f"Copies of {size} within {memory}, from a cold cache", style="bold"))
    numbers = ("seconds", "in sync", "range", "× floor", "× best loop", "memory", "read", "predicted")
    table = output.table("", "", *numbers, right=numbers)
    for row in summary["rows"]:
        who = row["contender"] + (f", {row['ranks']} ranks" if row["ranks"] > 1 else "")
        what = row["case"]
        if result["options"]["grid"]:
            what += f", {units.in_bytes(row['bytes'])} in {units.in_bytes(row['memory'])}"
        table.add_row(
            Text(what),
            Text(who),
            f"{row['seconds']:.2f}",
            f"{row['sync_seconds']:.2f}",
            f"{row['low']:.2f}–{row['high']:.2f}",
            _ratio(row, "of_floor"),
            _ratio(row, "of_best_loop"),
            _memory_words(row),
            units.in_bytes(round(row["device_bytes"])) if "device_bytes" in row else "",
            f"{row['predicted_seconds']:.2f}" if "predicted_seconds" in row else "",
        )
    console.print(table)
    for words in (*map(_peer_words, summary["rows"]), *map(_refusal_words, summary["refused"])):
        if words:
            console.print(Text(words), soft_wrap=True)
    if result.get("versions"):
        console.print(Text(f"Peers: {_version_words(result['versions'])}", style="dim"), soft_wrap=True)
    if summary["median_seconds_error"] is not None:
        console.print(
            f"Predicted against measured: seconds off by {summary['median_seconds_error']:.0%} (median), "
            f"{summary['worst_seconds_error']:.0%} at worst; memory by {summary['median_memory_error']:.0%}, "
            f"{summary['worst_memory_error']:.0%}."
        )


def _memory_words(row: dict[str, Any]) -> str:
    words = units.in_bytes(round(row["peak_bytes"]))
    if "of_memory" in row:
        words += f" ({row['of_memory']:.2f}{'' if row['kept_budget'] else ', not kept'})"
    return words


def _peer_words(row: dict[str, Any]) -> str:
    """Return the comparison of a row of Swath with the peers as text, or ""."""
    if "best_peer_any" not in row:
        return ""
    who = SWATH + (f" on {row['ranks']} ranks" if row["ranks"] > 1 else "")
    words = f"{row['case']}: {who} took {row['of_best_peer_any']:.2f} of the time of the fastest peer "
    if "best_peer_in_budget" not in row:
        return f"{words}({row['best_peer_any']}); no peer kept the budget."
    return (
        f"{words}({row['best_peer_any']}), and {row['of_best_peer_in_budget']:.2f} of the fastest that kept the budget "
        f"({row['best_peer_in_budget']})."
    )


def _refusal_words(refused: dict[str, Any]) -> str:
    return f"{refused['case']}: refused: {refused['reason']}"


def _version_words(versions: dict[str, dict[str, str]]) -> str:
    """Return the versions of each environment as text."""
    return "; ".join(", ".join(f"{name} {version}" for name, version in found.items()) for found in versions.values())


def _ratio(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:.2f}" if name in row else ""
