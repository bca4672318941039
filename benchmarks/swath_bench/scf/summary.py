"""Conclusions from the runs: operations by kind and size, as Pablo reports them, and the sweep over the share. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from swath_bench.scf.options import AUTO, BALANCED

KINDS = ("open", "read", "write", "flush", "close")
"""Operations on files, as the application records them; it never seeks."""
BACKGROUND = (
    *("batches_computed", "batches_read", "batches_from_memory", "batches_written", "bytes_read", "bytes_written"),
    *("reading", "writing", "waiting", "waiting_for_writes"),
)
"""Figures of balanced integrals in each iteration that are added up."""
RANK, KIND, BEGIN, SECONDS, BYTES = range(5)
"""The indices of the fields of an event."""
SIZES = (("size < 4K", 1 << 12), ("4K ≤ size < 64K", 1 << 16), ("64K ≤ size < 256K", 1 << 18), ("256K ≤ size", None))
"""Classes of table 3, and where each ends."""

Record = dict[str, Any]


def summarise(result: Record) -> Record:
    """Return tables and sentences of all runs."""
    runs = [run_summary(run) for run in result["runs"]]
    sweeps = sweeps_of(result["runs"])
    return {
        "runs": runs,
        "versions": versions_of(result["runs"], runs),
        "sweeps": sweeps,
        "sentences": [said for sweep in sweeps for said in sentences(sweep)],
    }


def versions_of(runs: Sequence[Record], summaries: Sequence[Record]) -> list[Record]:
    """Return figure 2: for each input, number of ranks and disk, all runs compared with that of stored integrals."""
    places: dict[tuple[Any, ...], list[Record]] = {}
    for run, found in zip(runs, summaries, strict=True):
        io = found["operations"][-1]
        version = {
            "integrals": run["integrals"],
            "share": run["share"],
            "seconds": found["seconds"],
            "iteration_seconds": found["iteration_seconds"],
            "io_seconds": io["seconds"],
            "percent_of_execution": io["percent_of_execution"],
        }
        places.setdefault((run["input"], run["ranks"], run["disk"]), []).append(version)
    for versions in places.values():
        stored = next((one for one in versions if one["integrals"] == "stored"), None)
        for one in versions:
            for name in ("seconds", "io_seconds"):
                known = stored is not None and stored[name] > 0
                one[f"{name}_saved_percent"] = 100 * (1 - one[name] / stored[name]) if known and stored else None
    return [
        {"input": name, "ranks": ranks, "disk": disk, "versions": versions}
        for (name, ranks, disk), versions in places.items()
    ]


def run_summary(run: Record) -> Record:
    """Tables 2 and 3 of one run. Seconds are those of all ranks together, as in the paper, and of waiting."""
    events = run["events"]
    execution = run["seconds"] * run["ranks"]
    moved = [event for event in events if event[KIND] in KINDS]
    waited = sum(event[SECONDS] for event in moved)
    behind = background(run["background"])
    if behind:
        waited += behind["waiting_for_writes"]
    rows = [_row(kind, [e for e in moved if e[KIND] == kind], waited, execution) for kind in KINDS]
    if behind:
        rows.insert(KINDS.index("write") + 1, _written_behind(behind, waited, execution))
    return {
        "words": run["words"],
        "seconds": run["seconds"],
        "iteration_seconds": iteration_seconds(run),
        "execution_seconds": execution,
        "integral_seconds": sum(e[SECONDS] for e in events if e[KIND] == "integrals"),
        "fock_seconds": sum(e[SECONDS] for e in events if e[KIND] == "fock"),
        "background": behind,
        "operations": [*rows, _sum_of(rows)],
        "sizes": {kind: size_distribution([e for e in moved if e[KIND] == kind]) for kind in ("read", "write")},
    }


def background(ranks: Sequence[Sequence[Record]]) -> dict[str, float]:
    """Return the background work of balanced integrals, summed over ranks and iterations; nothing for others."""
    iterations = [iteration for rank in ranks for iteration in rank]
    return {name: sum(iteration[name] for iteration in iterations) for name in BACKGROUND} if iterations else {}


def _row(kind: str, events: Sequence[Sequence[Any]], waited: float, execution: float) -> Record:
    seconds = sum(event[SECONDS] for event in events)
    return _filled(kind, len(events), seconds, sum(event[BYTES] for event in events), (waited, execution))


def _written_behind(behind: Record, waited: float, execution: float) -> Record:
    """Return the background writes of balanced integrals, with the program's waits for buffer room."""
    count, size = int(behind["batches_written"]), int(behind["bytes_written"])
    return _filled("write behind", count, behind["waiting_for_writes"], size, (waited, execution))


def _filled(kind: str, count: int, seconds: float, size: int, of: tuple[float, float]) -> Record:
    waited, execution = of
    return {
        "operation": kind,
        "count": count,
        "seconds": seconds,
        "bytes": size,
        "percent_of_io": 100 * seconds / waited if waited else 0.0,
        "percent_of_execution": 100 * seconds / execution if execution else 0.0,
    }


def _sum_of(rows: Sequence[Record]) -> Record:
    return {"operation": "all I/O", **{name: sum(row[name] for row in rows) for name in rows[0] if name != "operation"}}


def size_distribution(events: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Return the number of requests in each class of sizes."""
    counts = dict.fromkeys((name for name, _ in SIZES), 0)
    for event in events:
        counts[next(name for name, end in SIZES if end is None or event[BYTES] < end)] += 1
    return counts


def iteration_seconds(run: Record) -> float:
    """Return the median of the iterations without the first, in which balanced integrals are computed and written."""
    seconds = run["iteration_seconds"]
    return float(statistics.median(seconds[1:] or seconds))


def sweeps_of(runs: Sequence[Record]) -> list[Record]:
    """Figure 6: the seconds at each share, for each input, number of ranks and disk with two or more shares."""
    places = dict.fromkeys((run["input"], run["ranks"], run["disk"]) for run in runs if run["integrals"] == BALANCED)
    found = []
    for place in places:
        here = [r for r in runs if (r["input"], r["ranks"], r["disk"]) == place]
        points = [
            {
                "share": r["share"],
                "disk_share": r["disk_share"],
                "seconds": r["seconds"],
                "iteration_seconds": iteration_seconds(r),
            }
            for r in here
            if r["integrals"] == BALANCED
        ]
        if len(points) > 1:
            found.append({"input": place[0], "ranks": place[1], "disk": place[2], "points": points, **_verdict(points)})
    return found


def _verdict(points: Sequence[Record]) -> Record:
    """Return the best fixed share, and the ratios of the chosen one to it and to both ends; by iteration seconds."""
    fixed = [point for point in points if point["share"] != AUTO]
    best = min(fixed, key=lambda point: float(point["iteration_seconds"]), default=None)
    auto = next((point["iteration_seconds"] for point in points if point["share"] == AUTO), None)
    ends = [p["iteration_seconds"] for p in fixed if float(p["share"]) in (0, 100)]
    known = auto is not None and best is not None
    return {
        "best_share": None if best is None else best["share"],
        "auto_to_best": auto / best["iteration_seconds"] if known and best is not None else None,
        "ends_to_auto": min(ends) / auto if auto is not None and len(ends) == 2 else None,
    }


def sentences(sweep: Record) -> list[str]:
    """Return the conclusions of a sweep as sentences."""
    where = "" if sweep["disk"] is None else f" on modelled disk {sweep['disk']}"
    place = f"{sweep['input']}, {sweep['ranks']} ranks{where}"
    said = []
    if sweep["best_share"] is not None:
        said.append(f"{place}: an iteration is shortest with {sweep['best_share']} % of the integrals on disk.")
    if sweep["auto_to_best"] is not None:
        said.append(f"{place}: the share that auto finds takes {sweep['auto_to_best']:.2f} × that time.")
    if sweep["ends_to_auto"] is not None:
        said.append(f"{place}: the better end (0 or 100 %) takes {sweep['ends_to_auto']:.2f} × the time of auto.")
    return said
