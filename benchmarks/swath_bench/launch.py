"""Start ranks by the mpiexec of this Python's environment, and end all of them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from swath.errors import Error, UnsupportedError
from swath.ranks import mpi
from swath.store import modelled_disk

SECONDS_TO_END = 5.0


class BenchmarkFailedError(Error):
    """The ranks failed; their messages are on standard error."""

    kind = "benchmark"


def check_can_start() -> None:
    """Raise UnsupportedError if no ranks can be started: inside an mpiexec, or without MPI."""
    if mpi.launcher()[0] is not None:
        raise UnsupportedError("python -m swath_bench starts its own ranks: call it without mpiexec")
    missing = [name for name in ("mpi4py",) if importlib.util.find_spec(name) is None]
    if missing or mpi.own_mpiexec() is None:
        needed = ", ".join(missing or ["mpiexec"])
        raise UnsupportedError(f"python -m swath_bench needs {needed}: pip install 'swath[mpi]', then swath doctor")


def run_on_ranks(
    benchmark: str, ranks: int, options: dict[str, Any], folder: str, defaults: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the result of `benchmark` on this number of ranks, with its file in `folder`.

    `defaults` are environment variables for the ranks, unless they are set. The ranks print their progress on standard
    error. Raises BenchmarkFailedError if a rank fails. All ranks are ended in any case.
    """
    result = os.path.join(folder, f"{benchmark}.json")
    # `-m mpi4py` ends all ranks when one fails.
    rank = [sys.executable, "-m", "mpi4py", "-m", "swath_bench.on_ranks", benchmark, json.dumps(options), folder]
    command = [str(mpi.own_mpiexec()), "-n", str(ranks), *rank, result]
    status = run_command(command, {**(defaults or {}), **os.environ})
    if status != 0:
        raise BenchmarkFailedError(
            f"{benchmark}: mpiexec ended with status {status}; what the failing rank said stands above; "
            "then try swath doctor"
        )
    with open(result, encoding="utf-8") as told:
        found: dict[str, Any] = json.load(told)
    return found


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run ranks, or one program, and return the exit status. All processes are ended in any case."""
    # All ranks are on this machine: no ssh. Their output goes to standard error: standard output is for results.
    environment = {**environment, "HYDRA_LAUNCHER": "fork"}
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, env=environment, start_new_session=True)
    try:
        return job.wait()
    finally:
        end(job)


@contextlib.contextmanager
def on_disk(disk: str | None, folder: str, build: str | os.PathLike[str] | None = None) -> Iterator[str]:
    """Give a folder on a modelled disk that any program can use; without a disk, `folder` itself."""
    if disk is None:
        yield folder
        return
    with modelled_disk.mounted(disk, folder, build=build) as path:
        yield str(path)


def say(benchmark: str, text: str) -> None:
    """Print a line of progress on standard error, in the process that starts all others."""
    print(f"{benchmark}: {text}", file=sys.stderr, flush=True)


def end(job: subprocess.Popen[Any]) -> None:
    """Ask mpiexec to end, which ends its ranks; kill processes that do not react."""
    if job.poll() is not None:
        return
    job.terminate()
    try:
        job.communicate(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()
