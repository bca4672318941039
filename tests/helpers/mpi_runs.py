"""Starts ranks for tests: the mpiexec next to this Python, a time limit, and the output after a failure."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import yielding
from tree import PROGRAMS


def needs_mpi() -> None:
    """Skip the calling test if there is no MPI."""
    # Found, not imported: MPI would start in the process of the tests themselves.
    for module in ("mpi4py", "swath._mpi_mpich"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no module {module}")
    if mpiexec() is None:
        pytest.skip("no mpiexec beside this Python or in PATH")


def mpiexec() -> str | None:
    """The mpiexec of this environment."""
    beside = Path(sysconfig.get_path("scripts"), "mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def run_ranks(
    ranks: int, script: str, *arguments: object, seconds_max: float = 100, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run tests/programs/mpi/`script` on `ranks` ranks; a run that takes longer than `seconds_max` fails as a hang."""
    needs_mpi()
    program = [sys.executable, str(PROGRAMS / "mpi" / script), *map(str, arguments)]
    env = {**os.environ, "HYDRA_LAUNCHER": "fork", **(environment or {})}
    preloaded = env.get("LD_PRELOAD", "").replace(":", " ").split()
    command = [str(mpiexec()), "-n", str(ranks), *yielding.preloaded(*preloaded), *program]
    try:
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=seconds_max, check=False)
    except subprocess.TimeoutExpired as expired:
        pytest.fail(f"{script} on {ranks} ranks: still running after {seconds_max} s, a hang: {expired.stdout!r}")


def run_well(ranks: int, script: str, *arguments: object, **options: object) -> str:
    """The same, for a script that must succeed; return its output."""
    result = run_ranks(ranks, script, *arguments, **options)  # type: ignore[arg-type]
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-6000:]
    return result.stdout
