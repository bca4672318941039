"""The peak memory of a read or write is at most the local data and the plan's buffers, plus a tenth.

Measured as peak resident memory in a separate process; shared windows count once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_cases import CASES
from mpi_runs import mpiexec, needs_mpi
from tree import HELPERS

METHODS = ("direct", "sieve", "list", "two-phase")


def check(
    folder: Path,
    case: str,
    direction: str,
    method: str,
    world: str = "1",
    nodes: int = 1,
    start: tuple[str, ...] = (),
    engine: str = "auto",
) -> None:
    path = folder / "a.raw"
    with path.open("wb") as file:
        file.truncate(CASES[case].shape[0] * CASES[case].shape[1] * 8)
    command = [
        *start,
        sys.executable,
        str(HELPERS / "memory_cases.py"),
        case,
        direction,
        method,
        world,
        str(nodes),
        str(path),
    ]
    env = {**os.environ, "HYDRA_LAUNCHER": "fork", "PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}
    env["SWATH_ENGINE"] = engine
    try:
        ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=110, check=False)
    finally:
        path.unlink()
    assert ended.returncode == 0, ended.stderr
    measured = json.loads(ended.stdout)
    assert measured["local"] == 256 << 20
    assert measured["peak"] >= 0.99 * measured["local"], "not all was measured"
    assert measured["peak"] <= 1.1 * (measured["local"] + measured["stated"]), measured


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize(
    ("case", "method"),
    # Of the transposed array list would make 33 million pieces.
    [("transposed", "direct"), ("transposed", "sieve"), ("default", "list"), ("transposed", "two-phase")],
)
def test_one_rank_keeps_to_the_memory_that_the_plan_states(
    tmp_path: Path, case: str, direction: str, method: str
) -> None:
    check(tmp_path, case, direction, method)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("case", ["holes", "default"])
@pytest.mark.parametrize("method", METHODS)
def test_one_rank_keeps_to_the_memory_that_the_plan_states_in_other_cases(
    tmp_path: Path, case: str, direction: str, method: str
) -> None:
    check(tmp_path, case, direction, method)


@pytest.mark.parametrize("direction", ["read", "write"])
def test_ranks_that_share_memory_keep_to_what_the_plan_states(tmp_path: Path, direction: str) -> None:
    check(tmp_path, "holes", direction, "two-phase", "2")


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_of_several_nodes_keep_to_what_the_plan_states(
    tmp_path: Path, ranks: int, nodes: int, case: str, direction: str
) -> None:
    check(tmp_path, case, direction, "two-phase", str(ranks), nodes)


@pytest.mark.parametrize(("direction", "case"), [("read", "holes"), ("write", "holes")])
def test_ranks_of_mpi_keep_to_what_the_plan_states(tmp_path: Path, direction: str, case: str) -> None:
    needs_mpi()
    check(tmp_path, case, direction, "two-phase", "mpi", start=(str(mpiexec()), "-n", "2"))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_ranks_of_mpi_keep_to_what_the_plan_states_in_other_cases(
    tmp_path: Path, method: str, case: str, direction: str
) -> None:
    if (method, case) == ("list", "transposed"):
        pytest.skip("33 million pieces")
    needs_mpi()
    # Not by "auto": one rank may find pages in the page cache that another one has read, and map them. Mapped pages are
    # resident, but they are not the process's memory.
    check(tmp_path, case, direction, method, "mpi", start=(str(mpiexec()), "-n", "2"), engine="posix")
