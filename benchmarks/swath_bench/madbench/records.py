"""The record of one run of MADbench as plain data: the times of the tasks, and the paper's TIO and LBSTIO."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from swath_bench.madbench.options import Options
from swath_bench.madbench.problem import PHASES

BEGUN, COMPUTED, MET, MOVED, RELEASED, ENDED = range(6)
"""The marks of a step: begin; computed; first barrier passed; transferred; second barrier passed; computed."""
READ_FIRST = "invD"
HEAD_STEPS = 4
"""Head positions are kept for this number of steps of the phase `READ_FIRST`: more would be too dense to see."""
DIGITS = 6
"""The digits of seconds that are kept; further digits are noise."""

Steps = list[list[float]]


def run_record(options: Options, tasks: Sequence[dict[str, Any]], results: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a run: readers, writers, disk, times of each phase, evidence, decisions of the throttle.

    Args:
        options: options of this run alone.
        tasks: for each task "steps" (by phase, six marks a step, seconds of one clock), "cached" and
            "device_bytes_read"; for task 0 also "decisions", and in virtual time "disk_stats" and "heads" (from
            `_core.modelled_disk_trace`).
        results: results of the computation.
    """
    start = min(of_task["steps"][PHASES[0]][0][BEGUN] for of_task in tasks)
    phases = {phase: phase_record([t["steps"][phase] for t in tasks], start) for phase in PHASES}
    total = max(phase["end"] for phase in phases.values())
    io = sum(phase["tio_seconds"] + phase["lbstio_seconds"] for phase in phases.values())
    problem = options.problem
    return {
        "tasks": options.tasks,
        "pixels": options.pixels,
        "bins": options.bins,
        "gangs": options.gangs,
        "block": options.block,
        "shared_file": options.shared_file,
        "mode": "compute" if options.compute else "I/O only",
        "writers": options.writers[0],
        "readers": options.readers[0],
        "disk": options.only_disk,
        "switch_to": options.switch_to,
        "virtual": options.virtual,
        "cache": options.caches[0],
        "chunk_bytes": problem.matrix_bytes // options.tasks,
        "bytes": problem.matrix_bytes * options.bins,
        "total_seconds": round(total, DIGITS),
        "io_percent": 100 * io / total if total else 0.0,
        "phases": phases,
        "cached_before": _cached(tasks),
        "device_bytes_read": sum_known([t["device_bytes_read"] for t in tasks]),
        "verified": "every element" if options.verify else "checksums of all chunks",
        "decisions": _since(tasks[0].get("decisions", []), start),
        "heads": _heads(tasks[0].get("heads", []), phases[READ_FIRST]["tasks"], start),
        "disk_stats": tasks[0].get("disk_stats"),
        **results,
    }


def phase_record(steps_of_tasks: Sequence[Steps], start: float) -> dict[str, Any]:
    """One phase: averages over the tasks of sums over the steps, and every task's marks, seconds since `start`."""

    def average(begin: int, end: int) -> float:
        return statistics.fmean(sum(marks[end] - marks[begin] for marks in steps) for steps in steps_of_tasks)

    marks = [[[round(mark - start, DIGITS) for mark in step] for step in steps] for steps in steps_of_tasks]
    begin = min(steps[0][BEGUN] for steps in marks)
    end = max(steps[-1][ENDED] for steps in marks)
    return {
        "seconds": round(end - begin, DIGITS),
        "begin": begin,
        "end": end,
        "compute_seconds": average(BEGUN, COMPUTED) + average(RELEASED, ENDED),
        "imbalance_seconds": average(COMPUTED, MET),
        "tio_seconds": average(MET, MOVED),
        "lbstio_seconds": average(MOVED, RELEASED),
        "tasks": marks,
    }


def _heads(
    trace: Sequence[tuple[float, int, int, int, int, bool, bool]], tasks: Sequence[Steps], start: float
) -> list[list[float]]:
    """Return [seconds, byte] of each move of the first disk's head during the first reading steps of invD."""
    first = min(steps[0][MET] for steps in tasks)
    last = max(steps[:HEAD_STEPS][-1][MOVED] for steps in tasks)
    moved = ((seconds - start, position) for seconds, disk, position, *_ in trace if disk == 0)
    return [[round(seconds, DIGITS), position] for seconds, position in moved if first <= seconds <= last]


def _cached(tasks: Sequence[dict[str, Any]]) -> list[float | None]:
    """Return the cached part of all files before invD, and before W; None if it is unknown."""
    return [cached_part(told) for told in zip(*(of_task["cached"] for of_task in tasks), strict=True)]


def cached_part(told: Sequence[tuple[int, int] | None]) -> float | None:
    """Return the cached part of all files, from (cached bytes, bytes) of each task with a file; None if not known."""
    known = [of_task for of_task in told if of_task is not None]
    size = sum(size for _, size in known)
    return sum(cached for cached, _ in known) / size if size else None


def sum_known(counts: Sequence[int | None]) -> int | None:
    """Return the sum; None if one value is unknown."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _since(decisions: Sequence[dict[str, Any]], start: float) -> list[dict[str, Any]]:
    return [{**decision, "seconds": round(decision["seconds"] - start, DIGITS)} for decision in decisions]
