"""Starts the ranks of a replay, keeps them together, and ends them all when one fails or the replay is interrupted."""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from swath.errors import StoreError, UnsupportedError, from_wire
from swath.ranks import mpi
from swath.replay.carrying import Timed
from swath.replay.rank import JOB, READY, Job, answer_of
from swath.replay.scratch import Scratch

ENDED_SECONDS_MAX = 5
LOOK_UP_SECONDS = 1.0
LOOKS_MAX = 10
"""If mpiexec still runs after so many looks at which it had no child any more, its child was killed."""


def run_ranks(scratch: Scratch, job: Job) -> list[Timed]:
    """Carry out a run by one process a rank, and return what each rank did.

    Raises:
        StoreError: a rank was refused a call; or a rank was killed.
        UnsupportedError: the ranks need MPI, and there is none.
    """
    with open(os.path.join(scratch.folder, JOB), "wb") as file:
        pickle.dump(job, file)
    program = [sys.executable, "-m", "swath.replay.rank", scratch.folder]
    if job.run.is_collective:
        commands = [[_mpiexec(), "-n", str(job.run.ranks), *program]]
    else:
        commands = [[*program, str(rank)] for rank in range(job.run.ranks)]
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(_process(command, rank, scratch)) for rank, command in enumerate(commands)]
        failed = _wait(processes)
    return _answers(scratch.folder, job.run.ranks, failed)


def _mpiexec() -> str:
    found = mpi.own_mpiexec()
    if found is None or mpi.launcher()[0] is not None:
        why = "no mpiexec of mpi4py's MPI was found" if found is None else "this process was started by mpiexec itself"
        raise UnsupportedError(f"replay: the run has collective operations, which need MPI ranks, and {why}")
    return found


@contextlib.contextmanager
def _process(command: list[str], rank: int, scratch: Scratch) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process in a group of its own, and end it at the end of the block."""
    environment = {**os.environ, "HYDRA_LAUNCHER": "fork"}
    if command[0] == sys.executable and "SWATH_TRACE" in os.environ:
        environment["PMIX_RANK"] = str(rank)  # the trace of a replay has its ranks
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True, bufsize=0
    )
    scratch.tell("+", process.pid)
    try:
        yield process
    finally:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(ENDED_SECONDS_MAX)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # ranks whose mpiexec was killed
        scratch.tell("-", process.pid)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _wait(processes: list[subprocess.Popen[bytes]]) -> int:
    """Serve the barriers of the ranks until all have ended, or one has failed. Return the status of this one, or 0."""
    with selectors.DefaultSelector() as waiting:
        for process in processes:
            assert process.stdout is not None
            waiting.register(process.stdout, selectors.EVENT_READ, process)
        ready, looks = 0, 0
        launchers: set[int] = set()
        while waiting.get_map():
            happened = waiting.select(LOOK_UP_SECONDS)
            with_children = {process.pid for process in processes if _has_children(process)} if not happened else set()
            launchers |= with_children
            looks = looks + 1 if not happened and launchers - with_children else 0
            if looks > LOOKS_MAX:
                return -signal.SIGKILL
            for key, _ in happened:
                said = os.read(key.fd, 1)
                if said == READY:
                    ready += 1
                elif not said:
                    waiting.unregister(key.fileobj)
                    if status := key.data.wait():
                        return int(status)
            if ready == len(processes):
                ready = 0
                for process in processes:
                    with contextlib.suppress(BrokenPipeError):
                        process.stdin.write(READY)  # type: ignore[union-attr]
    return 0


def _has_children(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process has children that live."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] != "Z":
                    return True
    return False


def _answers(folder: str, ranks: int, failed: int) -> list[Timed]:
    answers: list[Any] = []
    for rank in range(ranks):
        with (
            contextlib.suppress(OSError, EOFError, pickle.UnpicklingError),
            open(answer_of(folder, rank), "rb") as file,
        ):
            answers.append(pickle.load(file))
    for answer in answers:
        if not isinstance(answer, Timed):
            raise from_wire(answer)
    if len(answers) < ranks:
        by = f"by signal {-failed}" if failed < 0 else f"with status {failed}"
        raise StoreError(
            f"replay: a rank did not end well (a process ended {by}; what it said stands above): nothing is left "
            "of the replay"
        )
    return answers
