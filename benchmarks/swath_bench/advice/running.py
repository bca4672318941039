"""Runs each program with a trace, and replays it: as it was, with each advice, and with all in every order."""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swath.advice.runs.advise import advise
from swath.advice.runs.store_prices import prices_of
from swath.advice.runs.verify import Verification, on_store, verify
from swath.errors import ArgumentError, UnsupportedError
from swath.ranks import mpi
from swath.replay import replaying
from swath.replay.actions import Run
from swath.replay.changes import Change
from swath.replay.loading import load
from swath.trace.opening import read_log
from swath_bench import launch
from swath_bench.advice import programs
from swath_bench.advice.options import HERE, Options
from swath_bench.applications.options import CASES as APPLICATIONS
from swath_bench.applications.running import ENVIRONMENT, Built, arguments, find_applications
from swath_bench.launch import BenchmarkFailedError

BENCHMARK = "advice"
Record = dict[str, Any]


def measure(options: Options, folder: str, keep: Callable[[Record], None]) -> Record:
    """Trace and replay all programs on all disks; `keep` gets the results after each.

    Raises:
        BenchmarkFailedError: a program fails.
        UnsupportedError: a modelled disk cannot be mounted here, or there are no applications.
    """
    result: Record = {"cells": [], "left_out": []}
    for disk in options.disks:
        with launch.on_disk(None if disk == HERE else disk, folder, _build(options)) as data_folder:
            for case in options.cases:
                launch.say(BENCHMARK, f"{case}, {disk}")
                why_not = _why_not(case, options)
                if why_not:
                    result["left_out"].append(f"{case}: {why_not}")
                    continue
                with (
                    tempfile.TemporaryDirectory(dir=folder) as traces,
                    tempfile.TemporaryDirectory(dir=data_folder) as own,
                ):
                    try:
                        result["cells"].append({"case": case, "disk": disk, **_cell(case, disk, options, traces, own)})
                    except UnsupportedError as error:
                        result["left_out"].append(f"{case}, {disk}: {error}")
                keep(result)
    result["left_out"] = list(dict.fromkeys(result["left_out"]))
    return result


def _build(options: Options) -> Path | None:
    try:
        return find_applications(options.application).parent / "build"
    except UnsupportedError:
        return None


def _why_not(case: str, options: Options) -> str:
    has_ranks = case in programs.WITH_RANKS or (case in APPLICATIONS and APPLICATIONS[case].has_ranks)
    if has_ranks and mpi.own_mpiexec() is None:
        return "there is no mpiexec of mpi4py's MPI"
    if case in APPLICATIONS and not APPLICATIONS[case].is_python and options.prefix is None:
        return "is compiled against an installed Swath: give --prefix"
    return ""


def _cell(case: str, disk: str, options: Options, traces: str, data_folder: str) -> Record:
    """Return what one program shows on one disk."""
    trace = os.path.join(traces, "trace")
    _traced(case, options, trace, traces, data_folder)
    run = load(trace)
    again = [replaying.run(run, data_folder) for _ in range(options.rounds)]
    store = data_folder if disk == HERE else f"{replaying.MODELLED_DISK}{disk}"
    log = read_log(trace)
    found = advise(log, prices_of(store, None, log.files))
    shown = verify(found, store)
    return {
        "run_seconds": run.io_seconds,
        "replay_seconds": statistics.median(one.seconds for one in again),
        "advised_seconds": shown.original.elapsed_seconds,
        "advice": [
            {"title": one.title, "predicted": one.predicted, "replayed": one.replayed, "why": one.why}
            for one in shown.replayed[: len(found.advice)]
        ],
        "order": _orders(on_store(run, store), store, _gaining(shown, [one.proposal.change for one in found.advice]))
        if len(found.advice) <= options.steps_max
        else None,
    }


def _traced(case: str, options: Options, trace: str, folder: str, data_folder: str) -> None:
    """Run a program with its files in `data_folder`. Raises BenchmarkFailedError if it fails."""
    environment = {**os.environ, **ENVIRONMENT}
    if case in APPLICATIONS:
        built = Built(find_applications(options.application), options, Path(folder))
        application = APPLICATIONS[case]
        words = [
            *built.command(case, options.ranks),
            *arguments(application, application.before, options.scale, data_folder),
        ]
        if not application.is_python:
            environment["LD_LIBRARY_PATH"] = built.libraries
    else:
        file = os.path.join(data_folder, "file")
        if case in programs.READ_BYTES:
            programs.make(file, programs.READ_BYTES[case])
        words = [sys.executable, programs.__file__, case, file]
        if case in programs.WITH_RANKS:
            words = [str(mpi.own_mpiexec()), "-n", str(options.ranks), *words]
    command = [sys.executable, "-m", "swath.commands.cli", "trace", "--into", trace, *words]
    job = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    )
    try:
        said, _ = job.communicate(timeout=options.limit_seconds)
    except subprocess.TimeoutExpired:
        raise BenchmarkFailedError(f"{case}: still running after {options.limit_seconds:g} s") from None
    finally:
        launch.end(job)
    if job.returncode != 0:
        raise BenchmarkFailedError(f"{case}: ended with status {job.returncode}: {said.strip()[-800:]}")


def _gaining(shown: Verification, changes: list[Change | None]) -> list[Change]:
    """Return the changes of the advice that gains, in the advised order."""
    replayed = shown.replayed[: len(changes)]
    return [one for one, of in zip(changes, replayed, strict=True) if one is not None and of.gains]


def _orders(run: Run, store: str, changes: list[Change]) -> Record | None:
    """Return the seconds of a run with all changes, in the advised order and in the best one; None for one change."""
    if len(changes) < 2:
        return None
    seconds: dict[tuple[str, ...], float] = {}
    for order in itertools.permutations(changes):
        with contextlib.suppress(ArgumentError, UnsupportedError):  # a change leaves nothing for another one
            seconds[tuple(one.words for one in order)] = replaying.run(run, store, order).elapsed_seconds
    advised = seconds.get(tuple(one.words for one in changes))
    if advised is None:
        return None
    best = min(seconds, key=lambda order: seconds[order])
    return {"advised": advised, "best": seconds[best], "best_order": list(best), "orders": len(seconds)}
