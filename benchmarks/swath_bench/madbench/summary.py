"""Conclusions from the runs: the sweet spot, the distance of "auto" from it, and the time that throttling saved.

Everything here is a function of the JSON alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ALL, AUTO = "all", "auto"
SWATH_AUTO = "Swath, auto"
READING = ("invD", "W")
STEADY = "W"
"""The second time that everything is read: the learning is finished."""

PASSES = ("first pass", "second pass")
"""The passes of the peers, as MADbench reads everything twice: adaptive readers have learned in the first one."""

RunRecord = dict[str, Any]


def summarise(result: dict[str, Any]) -> dict[str, Any]:
    """Return the sets of runs that differ only by their readers, and sentences.

    Returns:
        "sweeps": for each such set the number of readers with the shortest read I/O, and the ratios of "auto" and no
        throttling to it; "sentences" has the same as text.
    """
    sweeps = [_sweep(runs) for runs in sweeps_of(result["runs"])]
    sentences = [said for sweep in sweeps for said in _sentences(sweep)]
    return {"sweeps": sweeps, "sentences": [*sentences, *map(_peer_words, result["peers"])]}


def sweeps_of(runs: Sequence[RunRecord]) -> list[list[tuple[int, RunRecord]]]:
    """Runs that differ by their readers alone, each with its index."""
    found: dict[tuple[Any, ...], list[tuple[int, RunRecord]]] = {}
    for index, run in enumerate(runs):
        key = tuple(run[name] for name in ("group", "disk", "switch_to", "cache", "tasks", "pixels", "writers"))
        found.setdefault(key, []).append((index, run))
    return list(found.values())


def io_seconds(run: RunRecord, *phases: str) -> float:
    """Return TIO + LBSTIO: the mean time of a task between two computations in those phases."""
    return sum(io_of(run["phases"][phase]) for phase in phases)


def io_of(phase: dict[str, Any]) -> float:
    """TIO + LBSTIO of one phase, or one pass."""
    return float(phase["tio_seconds"] + phase["lbstio_seconds"])


def where_of(run: RunRecord) -> str:
    """Return the place of a run: real or modelled disk, time, and page cache."""
    if run["disk"] is None:
        return "this folder"
    switched = "" if run["switch_to"] is None else f", {run['switch_to']} from W on"
    return f"modelled disk {run['disk']}{switched}{', virtual time' if run['virtual'] else ''}"


def _sweep(runs: Sequence[tuple[int, RunRecord]]) -> dict[str, Any]:
    by_readers = {run["readers"]: run for _, run in runs}
    first = runs[0][1]
    static = {readers: run for readers, run in by_readers.items() if readers != AUTO}
    auto, unthrottled = by_readers.get(AUTO), by_readers.get(ALL)
    found: dict[str, Any] = {
        **{name: first[name] for name in ("group", "disk", "switch_to", "cache", "tasks", "writers")},
        "where": where_of(first),
        "runs": [index for index, _ in runs],
        "best": {},
        "auto": None,
        "auto_saves": None,
    }
    spans = {"with_start_up": READING, "steady": (STEADY,), "first_half": ("invD",)}
    for name, phases in spans.items():
        if static:
            best = min(static, key=lambda readers: io_seconds(static[readers], *phases))
            found["best"][name] = {"readers": best, "seconds": io_seconds(static[best], *phases)}
    if auto is not None and len(static) > 1:  # a single run has no best one
        found["auto"] = {
            name: _ratio(io_seconds(auto, *phases), found["best"][name]["seconds"]) for name, phases in spans.items()
        }
        found["auto"]["total"] = _ratio(auto["total_seconds"], min(run["total_seconds"] for run in static.values()))
    if auto is not None and unthrottled is not None:
        found["auto_saves"] = {
            "total_seconds": {ALL: unthrottled["total_seconds"], AUTO: auto["total_seconds"]},
            "part": 1 - (_ratio(auto["total_seconds"], unthrottled["total_seconds"]) or 1.0),
        }
    return found


def _ratio(of: float, to: float) -> float | None:
    return of / to if to > 0 else None


def _sentences(sweep: dict[str, Any]) -> list[str]:
    group = f"{sweep['group']}: " if sweep["group"] else ""
    where = f"{group}{sweep['where']}, {sweep['tasks']} tasks, {sweep['writers']} writing at a time: "
    said = []
    if sweep["auto"] is not None:
        said.append(where + _auto_words(sweep))
    elif sweep["auto_saves"] is None and len(sweep["runs"]) > 1:
        best = sweep["best"]["with_start_up"]
        said.append(f"{where}{best['readers']} reading at a time was best, {best['seconds']:.3g} s of read I/O a task.")
    if sweep["auto_saves"] is not None:
        saved = sweep["auto_saves"]
        unthrottled, auto = saved["total_seconds"][ALL], saved["total_seconds"][AUTO]
        said.append(
            f"{where}{auto:.4g} s in all with auto, {unthrottled:.4g} s unthrottled: {saved['part']:+.1%} saved."
        )
    return said


def _auto_words(sweep: dict[str, Any]) -> str:
    auto, best = sweep["auto"], sweep["best"]
    if sweep["switch_to"] is not None:
        return (
            f"auto took {_times(auto['first_half'])} the read I/O of the best static number before the change "
            f"({best['first_half']['readers']}), and {_times(auto['steady'])} of the best after it "
            f"({best['steady']['readers']})."
        )
    return (
        f"auto took {_times(auto['steady'])} the read I/O of the best static number in steady state (W: "
        f"{best['steady']['readers']}), {_times(auto['with_start_up'])} with start-up (invD and W: "
        f"{best['with_start_up']['readers']}), {_times(auto['total'])} of the best total."
    )


def _peer_words(peers: dict[str, Any]) -> str:
    said = []
    for words in PASSES:
        seconds = {name: io_of(found[words]) for name, found in peers["contenders"].items()}
        ours, others = seconds.pop(SWATH_AUTO), {n: s for n, s in seconds.items() if not n.startswith("Swath")}
        best = min(others, key=lambda name: others[name])
        said.append(f"{_times(_ratio(ours, others[best]))} the time of the best peer, {best}, in the {words}")
    return f"Peers, {where_of(peers)}, {peers['tasks']} tasks: {SWATH_AUTO} took {', '.join(said)}."


def _times(ratio: float | None) -> str:
    return "no measurable part of" if ratio is None else f"{ratio:.2f} ×"
