"""A peer's program: it is started under the Python of its environment, watched until it ends, and its answer is read.

It gets a JSON file, and answers by lines of JSON (`swath_bench.standalone.answers` is its side). It runs in
a separate session, and all its processes are ended: an MPI that waits by spinning must not disturb another
contender.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from swath.ranks import mpi
from swath.store import standalone as of_swath
from swath_bench import standalone
from swath_bench.peers.environments import SWATH, Made

HERE = os.path.dirname(os.path.abspath(__file__))
STANDALONE = (os.path.dirname(standalone.__file__), os.path.dirname(of_swath.__file__))
"""Folders of modules that programs import without Swath."""
LAST_WORDS_MAX = 300
POLL_SECONDS = 0.2
SECONDS_TO_END = 5.0
LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDI_", "MPI_LOCAL", "PYTHON")
"""Variables that no program may inherit: it would act as a rank of another job, or import from another Python."""

Lines = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Program:
    """A peer's program for one job.

    Attributes:
        made: the environment that it runs in.
        name: its module in `programs`; a name with a dot is the full name of a module of Swath.
        job: one of the jobs of the module.
        silent_seconds: longest time without a sign of life before it is ended.
        settings: its environment variables.
        mpi_ranks: number of processes that its MPI starts; None: it is one process without MPI.
    """

    made: Made
    name: str
    job: str
    silent_seconds: float
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mpi_ranks: int | None = None

    def run(self, request: Mapping[str, Any], folder: str) -> tuple[Lines, str]:
        """Run it to its end. Return the lines of its answer, and the reason if it failed, or "".

        Args:
            request: the request; "job" is added, and "kept", the file for its lines, which are its signs of life.
            folder: its working folder, with these files and one with its output.
        """
        folder = os.path.abspath(folder)
        asked, kept, said = (os.path.join(folder, name) for name in ("request.json", "kept.jsonl", "said.txt"))
        with open(asked, "w", encoding="utf-8") as file:
            json.dump({**request, "job": self.job, "kept": kept}, file)
        open(kept, "w", encoding="utf-8").close()
        with open(said, "wb") as words:
            process = subprocess.Popen(
                [*self._command(), asked],
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                cwd=folder,
                env=self.variables(),
                start_new_session=True,
            )
            failed = _watch(process, kept, self.silent_seconds)
        with open(kept, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        if failed:
            reasons = [line["failed"] for line in lines if "failed" in line]
            failed = f"{failed}: {reasons[0] if reasons else _last_words(said)}"
        return lines, failed

    def _command(self) -> list[str]:
        python = sys.executable if self.made.environment == SWATH else self.made.program("python")
        module = ["-m", self.name if "." in self.name else f"programs.{self.name}"]
        if self.mpi_ranks is None:
            return [python, *module]
        if self.made.environment == SWATH:
            return [str(mpi.own_mpiexec()), "-n", str(self.mpi_ranks), python, "-m", "mpi4py", *module]
        # More ranks than cores are allowed, and no rank is bound, as with the first MPI. `-m mpi4py` ends all ranks
        # when one fails.
        start = [self.made.program("mpiexec"), "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        return [*start, "-n", str(self.mpi_ranks), python, "-m", "mpi4py", *module]

    def variables(self) -> dict[str, str]:
        """Return the environment variables of the program."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        own = os.environ.get("PYTHONPATH", "").split(os.pathsep) if self.made.environment == SWATH else []
        return {
            **inherited,
            "PATH": os.pathsep.join([os.path.join(self.made.folder, "bin"), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": os.pathsep.join([HERE, *map(os.path.abspath, filter(None, own)), *STANDALONE]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYDRA_LAUNCHER": "fork",  # MPICH: all ranks are on this machine, no ssh
            # Tests of Swath may run as root; Open MPI needs two variables to allow it.
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            **self.settings,
        }


def by_cell(lines: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the lines that are about a cell of the request, by the cell's index."""
    return {line["index"]: line for line in lines if "index" in line}


def _watch(process: subprocess.Popen[bytes], signs: str, silent_seconds: float) -> str:
    """Wait for the end of the program; return the reason if it failed, or ""."""
    try:
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            if time.time() - os.stat(signs).st_mtime > silent_seconds:
                return f"no sign of life for {silent_seconds:.0f} s, ended"
    finally:
        _end(process)
    return "" if process.returncode == 0 else f"ended with status {process.returncode}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End its whole session: ranks have separate process groups."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
    for member in _of_session(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)
    process.wait()


def _of_session(session: int) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # the process has ended
            if os.getsid(int(name)) == session:
                found.append(int(name))
    return found


def _last_words(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as said:
        return " ".join(said.read().split())[-LAST_WORDS_MAX:] or "it said nothing"
