"""A copy without a communicator, under mpiexec: every process makes its own copy, and one of them warns."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import swath
from mpi_runs import mpiexec, needs_mpi

PROGRAM = """
import os, sys
import swath
swath.copy(sys.argv[1], sys.argv[1] + os.environ["PMI_RANK"] + ".npy")
assert "mpi4py" not in sys.modules
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(3, 4))
    return tmp_path / "a.npy"


def warned(source: Path) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        swath.copy.__wrapped__(source, source.with_name("b.npy"), overwrite=True)  # called here, not by `by_library`
    return caught


@pytest.mark.parametrize(
    "started",
    [
        {"PMI_SIZE": "3", "PMI_RANK": "0"},
        {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "0"},
    ],
)
def test_rank_0_of_several_processes_is_warned_where_it_called_copy(
    started: dict[str, str], source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in started.items():
        monkeypatch.setenv(name, value)
    (warning,) = warned(source)
    assert issubclass(warning.category, UserWarning)
    assert "b.npy" in str(warning.message)
    assert "started 3 processes" in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("started", [{"PMI_SIZE": "3", "PMI_RANK": "2"}, {"PMI_SIZE": "1", "PMI_RANK": "0"}, {}])
def test_others_and_who_is_alone_are_not_warned(
    started: dict[str, str], source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in started.items():
        monkeypatch.setenv(name, value)
    assert warned(source) == []


def test_one_of_three_ranks_says_that_each_copies_by_itself(source: Path) -> None:
    needs_mpi()
    command = [str(mpiexec()), "-n", "3", sys.executable, "-c", PROGRAM, str(source)]
    env = {**os.environ, "HYDRA_LAUNCHER": "fork"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("each of them makes a copy of its own") == 1
    assert len(list(source.parent.glob("a.npy?.npy"))) == 3
