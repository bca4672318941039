"""Tables of MADbench in the shape of tables 3 and 6 to 8 of the paper."""

from __future__ import annotations

import itertools
from typing import Any

from rich.console import Console
from rich.text import Text

from swath.base import units
from swath.commands import output
from swath_bench.madbench.problem import PHASES
from swath_bench.madbench.summary import PASSES, io_of, where_of

COLD_MAX = 0.01
"""The largest cached part of the files before a phase that is called cold."""

RunRecord = dict[str, Any]


def show(console: Console, result: dict[str, Any]) -> None:
    """Print all tables, their explanations, and the sentences of the summary."""
    keys = ("group", "disk", "switch_to", "cache", "tasks", "mode")
    for _, group in itertools.groupby(result["runs"], key=lambda run: [run[key] for key in keys]):
        _show_runs(console, list(group))
    for peers in result["peers"]:
        _show_peers(console, peers)
    console.print(Text(NOTES, style="dim"), soft_wrap=True)
    for said in result["summary"]["sentences"]:
        console.print(Text(said), soft_wrap=True)


NOTES = """\
Writers, readers: how many may write (dSdC) and read (invD, W) at a time; all: no throttling.
TIO: average time of a task in its transfers, waiting for its turn included. LBSTIO: average time at the barrier after
them. Seconds; % I/O: of TIO and LBSTIO in the total. All chunks that were read are those that were written."""


def _show_runs(console: Console, runs: list[RunRecord]) -> None:
    first = runs[0]
    group = f"{first['group']}: " if first["group"] else ""
    files = "one shared file" if first["shared_file"] else "a file for each task"
    title = (
        f"{group}{where_of(first)}; {first['mode']}, {first['tasks']} tasks, {first['pixels']:,} pixels, "
        f"{first['bins']} bins, {units.in_bytes(first['chunk_bytes'])} a chunk, {files}"
    )
    console.print(Text(title, style="bold"), soft_wrap=True)
    compute = first["mode"] == "compute"
    parts = ("COMP", "I/O") if compute else ("TIO", "LBSTIO")
    columns = ("writers", "readers", "total", *(f"{phase}\n{part}" for phase in PHASES for part in parts), "% I/O")
    table = output.table(*columns, right=columns)
    for run in runs:
        phases = [run["phases"][phase] for phase in PHASES]
        values = [value for phase in phases for value in _columns(phase, compute=compute)]
        numbers = [run["total_seconds"], *values]
        table.add_row(
            run["writers"], run["readers"], *(f"{number:.4g}" for number in numbers), f"{run['io_percent']:.0f}"
        )
    console.print(table)
    console.print(Text(evidence_words(runs), style="dim"), soft_wrap=True)
    console.print()


def _columns(phase: dict[str, Any], *, compute: bool) -> tuple[float, float]:
    if compute:
        return phase["compute_seconds"], phase["tio_seconds"] + phase["lbstio_seconds"]
    return phase["tio_seconds"], phase["lbstio_seconds"]


def evidence_words(runs: list[RunRecord]) -> str:
    """Return sentences on runs of one kind: their disk, whether reads reached it, and the verification."""
    words = []
    if runs[0]["disk"] is not None:
        words.append("MODELLED DISK" + (", VIRTUAL TIME" if runs[0]["virtual"] else ", a file system of this machine"))
    else:
        words.append(_device_words(runs))
        words.append(_cached_words(runs))
    words.append(f"verified: {runs[0]['verified']}")
    errors = [error for run in runs for error in run.get("relative_errors", {}).values()]
    if errors:
        words.append(f"inverse and products equal NumPy's within {max(errors):.1g} of their largest element")
    return "; ".join(words)


def _device_words(runs: list[RunRecord]) -> str:
    parts = [
        None if run["device_bytes_read"] is None else run["device_bytes_read"] / (2 * run["bytes"]) for run in runs
    ]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return "whether reads reached the device is not known"
    return f"of the reads {min(known):.0%} to {max(known):.0%} reached the device, the rest the page cache"


def _cached_words(runs: list[RunRecord]) -> str:
    parts = [part for run in runs for part in run["cached_before"]]
    if None in parts:
        return "what was in the page cache before is not known"
    most = max(parts, default=0.0)
    if runs[0]["cache"] == "warm":
        return f"warm: at least {min(parts):.0%} in the page cache before"
    return f"{'cold' if most <= COLD_MAX else 'NOT COLD'}: {most:.1%} in the page cache before at most"


def _peer_evidence(peers: dict[str, Any]) -> str:
    if peers["disk"] is not None:
        return "MODELLED DISK, a file system of this machine; verified: every element"
    passes = [found[words] for found in peers["contenders"].values() for words in PASSES]
    runs = [{**of, "cached_before": [of["cached_before"]], "bytes": peers["bytes"] / 2} for of in passes]
    words = (_device_words(runs), _cached_words([{**run, "cache": peers["cache"]} for run in runs]))
    return "; ".join((*words, "verified: every element"))


def _show_peers(console: Console, peers: dict[str, Any]) -> None:
    title = (
        f"Peers, {where_of(peers)}: {peers['tasks']} tasks read their chunks of "
        f"{units.in_bytes(peers['chunk_bytes'])}, {peers['bins']} bins, {peers['cache']}"
    )
    console.print(Text(title, style="bold"), soft_wrap=True)
    columns = [f"{words}\n{part}" for words in PASSES for part in ("TIO", "LBSTIO", "MB/s", "× best")]
    table = output.table("who reads", *columns, right=tuple(columns), unbroken=("who reads",))
    best = {words: min(io_of(found[words]) for found in peers["contenders"].values()) for words in PASSES}
    for name, found in peers["contenders"].items():
        cells = []
        for words in PASSES:
            seconds = io_of(found[words])
            times = [found[words]["tio_seconds"], found[words]["lbstio_seconds"]]
            cells += [f"{time:.4g}" for time in times]
            cells += [f"{peers['bytes'] / seconds / 1e6:,.4g}", f"{seconds / best[words]:.2f}"]
        table.add_row(name, *cells)
    console.print(table)
    console.print(Text(_peer_evidence(peers), style="dim"), soft_wrap=True)
    console.print()
