"""MADbench: tasks in lock-step that write, read, and read again their chunks of large matrices.

Source: Seelam, Kerstens, Teller, *Throttling I/O Streams to Accelerate File-IO Performance*, section 4, after Borrill,
Carter, Oliker, Skinner (2005); the code is our own. `problem` says which task has which rows, `options` has the
options, `running` goes through the phases on one task, `work` computes or sleeps (by `algebra`), `files` moves the
chunks through Swath, `records` has TIO and LBSTIO, `series` the runs that show the use of throttling, `peers` the other
readers of the chunks, `summary` the conclusions, `tables` prints the numbers as the paper does, `report` draws its
figures.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

from swath import simulated
from swath.ranks.ranks import ranks_of
from swath_bench import launch
from swath_bench.madbench.options import PEERS, Options, needs, quick_options, runs_of
from swath_bench.madbench.running import run, title_of
from swath_bench.madbench.series import must_show
from swath_bench.madbench.summary import summarise
from swath_bench.madbench.tables import show

__all__ = ["Options", "measure", "needs", "peer_names", "quick_options", "run", "show", "summarise", "title_of"]

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "SWATH_PROFILE": "none"}
"""Default environment of the tasks: one core each, and a throttle without learned numbers when a run begins."""


def measure(options: Options, folder: str, keep: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure one run after the other, then the peers. `keep` gets the results so far after each."""
    result: dict[str, Any] = {"runs": [], "peers": []}
    asked = must_show(options) if options.series == "must-show" else (("", run) for run in runs_of(options))
    for group, of_one in asked:
        result["runs"].append({"group": group, **_measure_one(of_one, folder)})
        keep(result)
    if options.peers:
        for disk in options.disks or (None,):
            of_disk = dataclasses.replace(options, disks=() if disk is None else (disk,))
            with launch.on_disk(disk, folder) as own:
                result["peers"].append(launch.run_on_ranks("madbench.peers", *_job(of_disk), own, ENVIRONMENT))
            keep(result)
    return result


def peer_names() -> tuple[str, ...]:
    """Return the peers that `--peers` without names selects."""
    return PEERS


def _measure_one(options: Options, folder: str) -> dict[str, Any]:
    if options.virtual:
        path = os.path.join(folder, f"madbench-{len(os.listdir(folder))}-{os.urandom(4).hex()}")
        told = simulated.run_ranks(options.tasks, lambda comm: run(ranks_of(comm), path, options), seed=options.seed)
        return told[0]
    with launch.on_disk(options.only_disk, folder) as own:
        return launch.run_on_ranks("madbench", *_job(options), own, ENVIRONMENT)


def _job(options: Options) -> tuple[int, dict[str, Any]]:
    return options.tasks, dataclasses.asdict(options)
