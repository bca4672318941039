"""A replay on a modelled disk: simulated ranks in this process, and simulated seconds that take no real time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from swath.array import opening
from swath.array.open_array import Array
from swath.calibration.modelled import profile_of_disk
from swath.errors import UnsupportedError
from swath.replay.actions import MOVING, UNKNOWN, Action
from swath.replay.arrays import Operations
from swath.replay.carrying import Rank, SimulatedClock, Timed
from swath.replay.rank import Job
from swath.simulated import run_ranks
from swath.store import profile


class ModelledFiles:
    """Scratch files on a modelled disk. Reads and writes take its time; other calls take none."""

    def __init__(self, paths: Sequence[str], engine: str, streams: int | str | None) -> None:
        self._paths, self._engine, self._streams = paths, engine, streams
        self._arrays: dict[int, Array] = {}
        self._positions: dict[int, int] = {}
        self._memory = np.zeros(0, "u1")

    def open_before(self, actions: Sequence[Action]) -> None:
        """Open all files that are read or written."""
        moving = [one for one in actions if one.name in MOVING]
        self._memory = np.zeros(max((one.length for one in moving), default=0), "u1")
        for file in sorted({one.file for one in moving}):
            path = self._paths[file]
            self._arrays[file] = opening.open(
                path,
                shape=(os.path.getsize(path),),
                dtype="u1",
                mode="r+",
                engine=self._engine,
                streams=self._streams,
            )

    def carry_out(self, action: Action) -> int:
        """Carry out a read or a write; of other calls note the position."""
        if action.name == "seek":
            self._positions[action.file] = max(action.offset, 0)
        if action.name not in MOVING or not action.length:
            return 0
        at = self._positions.get(action.file, 0) if action.offset == UNKNOWN else action.offset
        self._positions[action.file] = at + action.length
        array, chosen = self._arrays[action.file], slice(at, at + action.length)
        if action.name == "read":
            array.read(selection=chosen, out=self._memory[: action.length], method="direct")
        else:
            array.write(self._memory[: action.length], selection=chosen, method="direct")
        return action.length

    def copy(self, length: int) -> None:
        """Do nothing: memory takes no simulated time."""

    def close(self) -> None:
        """Close all files."""
        for array in self._arrays.values():
            array.close()


def run_modelled(job: Job, engine: str) -> list[Timed]:
    """Carry out a run on the disk of an engine ("model:PRESET"), and return what each rank did.

    Operations are planned with the profile of this disk.

    Raises:
        UnsupportedError: the run has reads ahead or writes behind, which are threads of real time.
    """
    if any(one.ahead or one.behind for one in job.run.every_action()):
        raise UnsupportedError(
            "replay: reads ahead and writes behind go on in real time, which a modelled disk does not have: replay "
            "them in a folder (--store FOLDER)"
        )
    with profile.used(profile_of_disk(engine)):  # that of the folder says nothing about this disk
        return run_ranks(job.run.ranks, partial(_carry_out, job, engine))


def _carry_out(job: Job, engine: str, comm: Any) -> Timed:
    shared = comm if job.run.ranks > 1 else None
    operations = Operations(job.run, job.paths, shared, engine)
    files = ModelledFiles(job.paths, engine, job.run.streams)
    return Rank(
        job.run, comm.rank, job.paths, operations, comm.barrier, SimulatedClock, files, job.with_gaps
    ).carry_out()
