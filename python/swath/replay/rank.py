"""The program of one rank of a replay: `python -m swath.replay.rank FOLDER [RANK]`, without RANK under mpiexec.

It reads the run from the folder, and writes there what it did. Ranks without MPI wait for each other by their standard
input and output: each writes a byte, and gets one when all have.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from swath.errors import Error, to_wire
from swath.ranks.ranks import ranks_of
from swath.replay.actions import Run
from swath.replay.arrays import Operations
from swath.replay.carrying import Rank

JOB = "job"
READY = b"."
END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2): no rank goes on if the process of mpiexec that looks after it is killed."""


@dataclass(frozen=True)
class Job:
    """What the ranks need.

    Attributes:
        run: the run.
        paths: the scratch files, by the numbers of the run's files.
        with_gaps: whether gaps in time are kept.
    """

    run: Run
    paths: list[str]
    with_gaps: bool


def answer_of(folder: str, rank: int) -> str:
    """Return the path of the file in which a rank says what it did."""
    return os.path.join(folder, f"rank-{rank}")


def main(folder: str, number: int | None) -> int:
    """Carry out the actions of this rank. Return the exit status."""
    with open(os.path.join(folder, JOB), "rb") as file:
        job: Job = pickle.load(file)
    comm: Any = None
    if number is None:
        from mpi4py import MPI

        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
        comm = MPI.COMM_WORLD
        rank, barrier = int(comm.rank), ranks_of(comm).comm.barrier
    else:
        rank, barrier = number, _barrier_by_pipes()
    operations = Operations(job.run, job.paths, comm, None)
    try:
        done: Any = Rank(job.run, rank, job.paths, operations, barrier, with_gaps=job.with_gaps).carry_out()
    except Error as error:
        done = to_wire(error)
    try:
        _answer(answer_of(folder, rank), done)
    except OSError:  # the disk is full: make room, since the replay is over
        for path in filter(os.path.exists, job.paths):
            os.truncate(path, 0)
        _answer(answer_of(folder, rank), done)
    if isinstance(done, dict):
        os._exit(1)  # other ranks may wait for this one, also at the end of MPI
    return 0


def _answer(path: str, done: Any) -> None:
    with open(path, "wb") as file:
        pickle.dump(done, file)


def _barrier_by_pipes() -> Callable[[], None]:
    to_replay = os.dup(1)
    os.dup2(2, 1)

    def barrier() -> None:
        os.write(to_replay, READY)
        if not os.read(0, 1):
            os._exit(1)  # the replay has ended

    return barrier


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None))
