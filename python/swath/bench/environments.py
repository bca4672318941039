"""Environments of the peers' own: virtual ones in the user's cache folder, and programs under their Pythons.

An environment is made when it is asked for, and kept as long as it is what is asked for. A program runs in a session of
its own, watched, and nothing of it is left behind: an MPI that waits by spinning never stands beside another contender.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from swath.errors import Error

STANDALONE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standalone")
"""Modules of Swath that programs import where there is no Swath."""
MADE = "environment.json"
"""Written last: an environment without it was not finished."""
WORDS_MAX = 600
LAST_WORDS_MAX = 300
POLL_SECONDS = 0.2
SECONDS_TO_END = 5.0
LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDI_", "MPI_LOCAL", "PYTHON")
"""What no program may inherit: it would take itself for a rank of another job, or import from another Python."""


class EnvironmentFailedError(Error):
    """An environment could not be made: no network perhaps, or no such package for this Python."""

    kind = "benchmark"


@dataclasses.dataclass(frozen=True)
class Environment:
    """What is installed.

    Attributes:
        name: of its folder.
        requirements: for pip.
        versions: of these packages are recorded.
    """

    name: str
    requirements: tuple[str, ...]
    versions: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Made:
    """An environment that is there.

    Attributes:
        environment: which.
        folder: where.
        versions: package to version.
    """

    environment: Environment
    folder: str
    versions: dict[str, str]

    def program(self, name: str) -> str:
        """One of its programs, "python"."""
        return os.path.join(self.folder, "bin", name)


def cache_folder() -> str:
    """Where environments are kept: swath/environments in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "swath", "environments")


def make(environment: Environment) -> Made:
    """The environment, from the cache folder or by pip. Raises EnvironmentFailedError.

    It is made again where requirements or the Python are others. Where two processes want it, one waits.
    """
    folder = os.path.join(cache_folder(), environment.name)
    wanted = {"requirements": list(environment.requirements), "python": sys.version}
    try:
        with _alone(folder):
            found = _recorded(folder)
            if found is None or {key: found.get(key) for key in wanted} != wanted:
                print(f"installing {', '.join(environment.requirements)} into {folder}", file=sys.stderr, flush=True)
                shutil.rmtree(folder, ignore_errors=True)
                _install(folder, environment)
                found = {**wanted, "versions": _versions(folder, environment)}
                with open(os.path.join(folder, MADE), "w", encoding="utf-8") as file:
                    json.dump(found, file)
    except OSError as error:
        raise EnvironmentFailedError(f"{environment.name}: no environment in {folder}: {error.strerror}") from None
    return Made(environment, folder, found["versions"])


def run_program(
    made: Made,
    command: Sequence[str],
    request: Mapping[str, Any],
    *,
    folder: str,
    modules: str,
    silent_seconds: float,
    settings: Mapping[str, str] | None = None,
) -> tuple[list[dict[str, Any]], str]:
    """Runs a program of an environment to its end: the lines that it left, and why that was a bad one, or "".

    Args:
        made: the environment.
        command: the program, by `made.program`, and its arguments; behind them it finds the file with its request.
        request: what it is asked; "kept" is added, the file for its lines of JSON, which are its signs of life.
        folder: an absolute path: where it works, and where these files are, and one with all that it says.
        modules: the folder that its Python imports from, before `standalone`.
        silent_seconds: how long it may go without a sign of life before it is ended.
        settings: environment variables for it.
    """
    asked, kept, said = (os.path.join(folder, name) for name in ("request.json", "kept.jsonl", "said.txt"))
    with open(asked, "w", encoding="utf-8") as file:
        json.dump({**request, "kept": kept}, file)
    open(kept, "w", encoding="utf-8").close()
    with open(said, "wb") as words:
        job = subprocess.Popen(
            [*command, asked],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            cwd=folder,
            env=_settings(made, modules, settings or {}),
            start_new_session=True,
        )
        failed = _watch(job, kept, silent_seconds)
    with open(kept, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    if failed:
        reasons = [line["failed"] for line in lines if "failed" in line]
        failed = f"{failed}: {reasons[0] if reasons else _last_words(said)}"
    return lines, failed


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[None]:
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _recorded(folder: str) -> dict[str, Any] | None:
    try:
        with open(os.path.join(folder, MADE), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return None
    return found


def _install(folder: str, environment: Environment) -> None:
    python = os.path.join(folder, "bin", "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", *environment.requirements]
    for command in ([sys.executable, "-m", "venv", folder], pip):
        ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if ended.returncode != 0:
            words = " ".join((ended.stderr or ended.stdout).split())[-WORDS_MAX:]
            raise EnvironmentFailedError(f"{environment.name}: {' '.join(command[1:])} failed: {words}")


def _versions(folder: str, environment: Environment) -> dict[str, str]:
    program = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    command = [os.path.join(folder, "bin", "python"), "-c", program, *environment.versions]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise EnvironmentFailedError(f"{environment.name}: its Python does not run: {ended.stderr[-WORDS_MAX:]}")
    found: dict[str, str] = json.loads(ended.stdout)
    return found


def _settings(made: Made, modules: str, settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return {
        **inherited,
        "PATH": os.pathsep.join([os.path.join(made.folder, "bin"), os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join([modules, STANDALONE]),
        "PYTHONDONTWRITEBYTECODE": "1",
        # Where Swath is tested it may be root; Open MPI wants to be told twice.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **settings,
    }


def _watch(job: subprocess.Popen[bytes], signs: str, silent_seconds: float) -> str:
    """Waits for its end; why it was a bad one, or ""."""
    try:
        while job.poll() is None:
            time.sleep(POLL_SECONDS)
            if time.time() - os.stat(signs).st_mtime > silent_seconds:
                return f"no sign of life for {silent_seconds:.0f} s, ended"
    finally:
        _end(job)
    return "" if job.returncode == 0 else f"ended with status {job.returncode}"


def _end(job: subprocess.Popen[bytes]) -> None:
    """Its whole session: ranks have process groups of their own."""
    if job.poll() is None:
        job.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(SECONDS_TO_END)
    for process in _of_session(job.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    job.wait()


def _of_session(session: int) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.getsid(int(name)) == session:
                found.append(int(name))
    return found


def _last_words(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as said:
        return " ".join(said.read().split())[-LAST_WORDS_MAX:] or "it said nothing"
